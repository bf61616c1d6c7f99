export { createMcpEndpoint } from './endpoint.js'
export type { McpEndpointOptions, McpRequestFacts } from './options.js'
