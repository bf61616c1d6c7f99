import { memoryDedupe, webhookHandler } from '@org/agent-messaging-client/webhooks'

// Lives as long as the isolate. A store such as KV knows duplicates for longer.
const dedupe = memoryDedupe()

export default {
  fetch: (request, env) =>
    webhookHandler({
      // Workers pass variables as `env`. Deno and Bun have them in `process.env`.
      secret: env?.WEBHOOK_SECRET ?? globalThis.process?.env.WEBHOOK_SECRET,
      dedupe,
      on: { 'webhook.test': ({ data }) => console.log('test of', data.webhookId) },
      onError: (error) => console.error(error.message),
    })(request),
}
