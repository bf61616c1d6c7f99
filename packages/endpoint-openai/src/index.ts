export { createOpenAiEndpoint } from './endpoint.js'
export type { OpenAiEndpointOptions } from './options.js'
