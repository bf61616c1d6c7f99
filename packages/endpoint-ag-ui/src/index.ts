export { createAgUiEndpoint } from './endpoint.js'
