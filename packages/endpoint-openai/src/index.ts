export { createOpenAiEndpoint } from './endpoint.js'
export type { OpenAiEndpointOptions, OpenAiRequestFacts } from './options.js'
