/** Internal entry: the parts of `createMessaging`, for the server. */
export { requireAgentNames } from './agent-names.js'
export { allPages } from './all-pages.js'
export { DEFAULT_PROJECT, ensureDefaultProject } from './default-project.js'
export { ensureAgents } from './ensure-agents.js'
export { badRequest } from './http/bad-request.js'
export { withCors } from './http/cors.js'
export { openDatabase, schemaVersion } from './open-database.js'
export { isPostgresUrl } from './postgres-url.js'
export { createPrivateDirectory, readOrCreateText } from './private-files.js'
export { SetupError, valueOf, valueOr } from './setup-error.js'
export {
  wire,
  type AgentFunctions,
  type Programs,
  type Wiring,
  type WiringOptions,
} from './wire.js'
