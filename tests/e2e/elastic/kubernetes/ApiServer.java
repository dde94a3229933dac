import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import java.net.InetAddress;
import java.util.HashMap;
import okhttp3.mockwebserver.MockWebServer;

/** Serves the Kubernetes API on a port of loopback until standard input ends. */
public class ApiServer {
    public static void main(String[] words) throws Exception {
        var server = new KubernetesMockServer(
            new Context(), new MockWebServer(), new HashMap<>(), new KubernetesCrudDispatcher(), false);
        server.init(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0]));
        System.out.println("ready");
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        System.exit(0);
    }
}
