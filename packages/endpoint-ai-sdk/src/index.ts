export { createAiSdkEndpoint } from './endpoint.js'
