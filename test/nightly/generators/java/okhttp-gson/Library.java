import org.openapitools.client.ApiClient;
import org.openapitools.client.JSON;
import org.openapitools.client.model.ErrorResponse;

class Library {
    static ApiClient connect(String url, String key) {
        ApiClient client = new ApiClient().setBasePath(url);
        client.setBearerToken(key);
        return client;
    }

    static ErrorResponse readError(String body) {
        return JSON.deserialize(body, ErrorResponse.class);
    }
}
