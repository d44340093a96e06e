"""The embedded keyword index and its engine: crashes, damage, concurrency, and the oracle."""

import asyncio
import json
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from support.retrieval.index_documents import allowed, document, only
from support.retrieval.keyword_corpus import corpus, questions

from hilvan_retrieval.adapters.keyword.memory import MemoryKeywordIndex
from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import KeywordQuery

# Writes one document after the other and names each one that was acknowledged.
WRITER = """
import asyncio, itertools, sys
from pathlib import Path
from support.retrieval.index_documents import document
from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex

async def main(folder, start):
    index = TantivyIndex.open(Path(folder))
    for number in itertools.count(int(start)):
        await index.upsert([document(f"m{number}", "pottery")])
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def found(index: TantivyIndex | MemoryKeywordIndex, text: str) -> set[Uid]:
    """Ask the default owner's question, for everything there is."""
    return {hit.uid for hit in (await index.search([KeywordQuery(only(), text, 10_000)]))[0]}


async def filled(folder: Path) -> None:
    """Leave an index of two commits in the folder."""
    index = TantivyIndex.open(folder)
    await index.upsert([document("m1", "pottery")])
    await index.upsert([document("m2", "pottery")])
    await index.close()


async def test_documents_outlive_the_process(tmp_path: Path) -> None:
    """A closed index opens again with everything that was in it."""
    await filled(tmp_path)
    index = TantivyIndex.open(tmp_path)
    assert await found(index, "pottery") == {document("m1").uid, document("m2").uid}
    await index.close()


@pytest.mark.parametrize("acknowledged", [1, 4, 15])
def test_kill_loses_nothing_acknowledged(tmp_path: Path, acknowledged: int) -> None:
    """After a kill -9 in mid-write, twice, the index opens and has what was acknowledged."""
    seen = 0
    for _ in range(2):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(seen)]
        path = {"PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=path) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(acknowledged)]
            process.kill()
            seen += len([*lines, *process.stdout.read().splitlines()])

    async def check() -> None:
        index = TantivyIndex.open(tmp_path)
        everything = {document(f"m{number}").uid for number in range(seen)}
        assert await found(index, "pottery") >= everything
        await index.upsert([document("after", "kiln")])
        assert await found(index, "kiln") == {document("after").uid}
        await index.close()

    assert seen >= 2 * acknowledged
    asyncio.run(check())


async def test_a_second_opening_is_refused(tmp_path: Path) -> None:
    """A directory that is open says so to the next one, and is free once closed."""
    index = TantivyIndex.open(tmp_path)
    with pytest.raises(EngineMisconfigured, match="open in another process"):
        TantivyIndex.open(tmp_path)
    await index.close()
    await TantivyIndex.open(tmp_path).close()


@pytest.mark.parametrize("pattern", ["*.idx", "*.term", "*.fast", "*.pos", "meta.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damage_is_named_at_start(tmp_path: Path, pattern: str, damage: str) -> None:
    """A file that is cut or gone is a misconfiguration whose message names the fix."""
    asyncio.run(filled(tmp_path))
    for file in tmp_path.glob(pattern):
        if damage == "cut":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        else:
            file.unlink()
    with pytest.raises(EngineMisconfigured, match="hilvan reindex"):
        TantivyIndex.open(tmp_path)


@pytest.mark.parametrize("found_format", ['{"schema": 0}', "", None])
async def test_another_version_is_refused(tmp_path: Path, found_format: str | None) -> None:
    """An index of another schema or analysis, or of none that is known, names the fix."""
    await filled(tmp_path)
    format_file = tmp_path / "hilvan-index.json"
    if found_format is None:
        format_file.unlink()
    else:
        format_file.write_text(found_format)
    with pytest.raises(EngineMisconfigured, match="hilvan reindex"):
        TantivyIndex.open(tmp_path)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """A path that can't be a folder is a misconfiguration."""
    (tmp_path / "file").touch()
    with pytest.raises(EngineMisconfigured):
        TantivyIndex.open(tmp_path / "file")


async def test_a_start_that_was_interrupted_is_repeated(tmp_path: Path) -> None:
    """A first start that ended after its format file goes on as a first start."""
    index = TantivyIndex.open(tmp_path / "a")
    await index.close()
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "hilvan-index.json", tmp_path / "b")
    index = TantivyIndex.open(tmp_path / "b")
    assert (await index.state()).document_count == 0
    await index.close()


async def test_concurrent_writes_share_commits(tmp_path: Path) -> None:
    """Sixty upserts at once need far fewer commits, and each is found when it returns."""
    index = TantivyIndex.open(tmp_path)

    async def write(number: int) -> None:
        await index.upsert([document(f"m{number}", f"word{number}")])
        assert await found(index, f"word{number}") == {document(f"m{number}").uid}

    await asyncio.gather(*(write(number) for number in range(60)))
    # tantivy counts each delete, each add and each commit.
    operations = json.loads((tmp_path / "meta.json").read_text())["opstamp"]
    assert operations < 60 + 60 + 30
    await index.close()


async def test_a_cancelled_caller_disturbs_nobody(tmp_path: Path) -> None:
    """Who stops waiting for a write does not keep the others from theirs."""
    index = TantivyIndex.open(tmp_path)
    writes = [asyncio.create_task(index.upsert([document(f"m{n}", "pottery")])) for n in range(20)]
    done, _ = await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
    given_up, *others = [write for write in writes if write not in done]
    given_up.cancel()
    await asyncio.gather(*others)
    assert len(await found(index, "pottery")) >= 19
    await index.close()


async def test_closing_completes_what_is_being_written(tmp_path: Path) -> None:
    """A write that had begun when the index was closed is in it, or its caller was told."""
    index = TantivyIndex.open(tmp_path)
    write = asyncio.create_task(index.upsert([document("m1", "pottery")]))
    await asyncio.sleep(0)
    await index.close()
    (outcome,) = await asyncio.gather(write, return_exceptions=True)
    reopened = TantivyIndex.open(tmp_path)
    assert bool(await found(reopened, "pottery")) is (outcome is None)
    assert outcome is None or isinstance(outcome, SourceUnavailable)
    await reopened.close()


async def test_a_failing_engine_is_unavailable_until_it_is_back(tmp_path: Path) -> None:
    """While the engine can't write every caller is told so, and the next write after that works."""
    index = TantivyIndex.open(tmp_path / "index")
    shutil.move(tmp_path / "index", tmp_path / "away")
    for _ in range(2):
        outcomes = await asyncio.gather(
            *(index.upsert([document(f"m{n}", "pottery")]) for n in range(3)),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [SourceUnavailable] * 3
    shutil.move(tmp_path / "away", tmp_path / "index")
    await index.upsert([document("m4", "pottery")])
    assert await found(index, "pottery") == {document("m4").uid}
    await index.close()


async def test_an_index_is_made_once(tmp_path: Path) -> None:
    """`ensure` opens or makes the directory, and is true only when it had to be made."""
    index = TantivyIndex(tmp_path / "index")
    with pytest.raises(SourceUnavailable, match="not open"):
        await index.ping()
    with pytest.raises(SourceUnavailable, match="not open"):
        await index.upsert([document("m1", "pottery")])
    assert [await index.ensure(), await index.ensure()] == [True, False]
    await index.upsert([document("m1", "pottery")])
    assert await index.ensure() is False
    assert await found(index, "pottery") == {document("m1").uid}
    await index.close()
    again = TantivyIndex(tmp_path / "index")
    assert await again.ensure() is False
    assert await found(again, "pottery") == {document("m1").uid}
    await again.close()


async def test_a_directory_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """An index whose directory is gone is made anew by `ensure`, which says so."""
    index = TantivyIndex.open(tmp_path / "index")
    await index.upsert([document("m1", "pottery")])
    shutil.rmtree(tmp_path / "index")
    assert await index.ensure() is True
    assert await found(index, "pottery") == set()
    await index.upsert([document("m2", "pottery")])
    assert await found(index, "pottery") == {document("m2").uid}
    await index.close()


async def test_dropping_leaves_no_file(tmp_path: Path) -> None:
    """A dropped index is gone with its directory, and answers nothing."""
    index = TantivyIndex.open(tmp_path / "index")
    await index.upsert([document("m1", "pottery")])
    await index.drop()
    assert not (tmp_path / "index").exists()
    with pytest.raises(SourceUnavailable):
        await found(index, "pottery")
    await index.close()


# tantivy keeps lengths up to 40 tokens exactly, longer ones in steps of up to an eighth.
@pytest.mark.parametrize(("most_words", "tolerance"), [(20, 1e-4), (300, 0.1)])
async def test_engine_agrees_with_the_oracle(
    tmp_path: Path, most_words: int, tolerance: float
) -> None:
    """On a seeded corpus tantivy finds the oracle's hits, with its scores, in its order."""
    oracle, engine = MemoryKeywordIndex(), TantivyIndex.open(tmp_path)
    documents = corpus(most_words, most_words)
    for index in (oracle, engine):
        for start in range(0, 600, 150):
            await index.upsert(documents[start : start + 150])
    asked = questions(most_words)
    total = 0
    answers = zip(asked, await oracle.search(asked), await engine.search(asked), strict=True)
    for query, expected, given in answers:
        scores = {hit.uid: hit.score for hit in expected}
        assert {hit.uid for hit in given} == set(scores)
        assert all(hit.score == pytest.approx(scores[hit.uid], rel=tolerance) for hit in given)
        for one, next_one in pairwise(given):
            assert scores[one.uid] >= scores[next_one.uid] * (1 - 2 * tolerance)
        allowed_uids = {entry.uid for entry in documents if allowed(entry, query.filter)}
        assert allowed_uids.issuperset(scores)
        total += len(given)
    assert total > 600
    await engine.close()
