export {
  createWebhookCatcher,
  type CatcherAnswer,
  type CatcherOptions,
  type CaughtEvent,
  type RefusedRequest,
  type WebhookCatcher,
} from './catcher.js'
