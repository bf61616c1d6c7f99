export { createA2aEndpoint } from './endpoint.js'
export type { A2aEndpointOptions } from './options.js'
