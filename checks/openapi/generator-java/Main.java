import com.example.messaging.ApiClient;
import com.example.messaging.api.MessagesApi;
import com.example.messaging.model.NewMessage;
import com.example.messaging.model.Responded;
import java.time.Duration;

public class Main {
  public static void main(String[] arguments) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setReadTimeout(Duration.ofSeconds(35));
    var key = "Bearer " + System.getenv("KEY");
    client.setRequestInterceptor(request -> request.header("Authorization", key));
    var message = new NewMessage().sessionId("java").message("Hello");
    Responded sent =
        new MessagesApi(client).sendMessage("echo", message, "order-42-java", null, null, null);
    System.out.println(sent.getResponse());
  }
}
