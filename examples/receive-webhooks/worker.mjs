import { memoryDedupe, webhookHandler } from '@org/agent-messaging-client/webhooks'

const dedupe = memoryDedupe() // lives as long as the isolate: keep ids in KV or a Durable Object to know duplicates for longer

export default {
  fetch: (request, env) =>
    webhookHandler({
      secret: env.WEBHOOK_SECRET,
      dedupe,
      on: { 'webhook.test': ({ data }) => console.log('a test of', data.webhookId) },
      onError: (error) => console.error(error.message),
    })(request),
}
