export { createMessaging, type Messaging, type MessagingOptions } from './create-messaging.js'
export type { Access, PageInput } from '@org/agent-messaging-core'
export type { HttpHandlers, HttpOptions } from './http/handlers.js'
export type { HostPool } from './open-database.js'
export { SetupError } from './setup-error.js'
export type { AskOptions } from './ask.js'
export type {
  FoundInProject,
  List,
  MessageStream,
  ProjectCalls,
  ShownWebhook,
} from './in-project.js'
export { MessagingError } from '@org/agent-messaging-core'
