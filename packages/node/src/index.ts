export { createMessaging, type Messaging, type MessagingOptions } from './create-messaging.js'
export { SetupError } from './setup-error.js'
export type { ProjectCalls } from './in-project.js'
export { MessagingError } from '@org/agent-messaging-core'
