import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node on loopback: {@code java -cp 'jars/*' LocalNode.java FOLDER PORT}.
 *
 * <p>Port 0 takes a free one. The real address is then in FOLDER/logs/http.ports.
 */
public final class LocalNode extends Node {
  private LocalNode(Environment environment) {
    super(environment, List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, ReindexPlugin.class), true);
  }

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]).toAbsolutePath();
    Files.createDirectories(folder.resolve("config"));
    Files.createDirectories(folder.resolve("logs"));
    LogConfigurator.setNodeName("local");
    LocalNode node = new LocalNode(environment(folder, args[1]));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(node)));
    node.start();
    Thread.currentThread().join();
  }

  private static Environment environment(Path folder, String port) {
    Settings settings =
        Settings.builder()
            .put("path.home", folder)
            .put("cluster.name", "hilvan-local")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", port)
            .put("transport.port", 0)
            .put("http.type", Netty4Plugin.NETTY_HTTP_TRANSPORT_NAME)
            .put("transport.type", Netty4Plugin.NETTY_TRANSPORT_NAME)
            .put("node.portsfile", true)
            // A full disk of the developer is no reason to refuse a test's few documents.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
    return InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "local");
  }

  private static void stop(Node node) {
    try {
      node.close();
    } catch (Exception error) {
      error.printStackTrace();
    }
  }
}
