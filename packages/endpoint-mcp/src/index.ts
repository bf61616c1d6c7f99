export { createMcpEndpoint } from './endpoint.js'
export type { McpEndpointOptions } from './options.js'
