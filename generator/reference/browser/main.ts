declare const SwaggerUIBundle: (options: object) => { readonly preauthorizeApiKey: unknown };

SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#viewer',
  validatorUrl: null,
  persistAuthorization: false,
  queryConfigEnabled: false,
  tryItOutEnabled: true,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
});
