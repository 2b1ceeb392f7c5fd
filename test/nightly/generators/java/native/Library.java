import org.openapitools.client.ApiClient;
import org.openapitools.client.model.ErrorResponse;

class Library {
    static ApiClient connect(String url, String key) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(url);
        return client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    }

    static ErrorResponse readError(String body) throws java.io.IOException {
        return ApiClient.createDefaultObjectMapper().readValue(body, ErrorResponse.class);
    }
}
