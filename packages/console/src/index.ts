export type { Console, ConsoleOptions } from './console.js'
export type { PortalLook } from '@org/agent-messaging-http-kit'
export { createConsole } from './console.js'
export { isConsolePath } from './path.js'
