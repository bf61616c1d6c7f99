export { createA2aEndpoint } from './endpoint.js'
export type { A2aEndpointOptions, A2aRequestFacts } from './options.js'
