-- Retrieval's database is made by the image; curation has one of its own.
CREATE DATABASE curation;
