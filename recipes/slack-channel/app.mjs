// A Slack app. A mention of the app becomes a message to the agent `support`. The webhook with the
// answer becomes a post in the same thread.
import bolt from '@slack/bolt'
import { createClient } from '@org/agent-messaging-client'
import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'

const { env } = process
const { messages } = createClient({ baseUrl: env.MESSAGING_URL, apiKey: env.MESSAGING_KEY })

const post = ({ metadata: { channel, thread } }, text) =>
  app.client.chat.postMessage({ channel, thread_ts: thread, text })

const receiveWebhook = nodeWebhookHandler({
  secret: env.WEBHOOK_SECRET,
  dedupe: memoryDedupe(), // For one process. Several processes need a shared store.
  on: {
    'message.responded': ({ data }) => post(data, data.response),
    'message.failed': ({ data }) => post(data, 'Sorry, I cannot answer this.'),
  },
  onError: (error) => console.error(error.message),
})

const app = new bolt.App({
  token: env.SLACK_BOT_TOKEN,
  signingSecret: env.SLACK_SIGNING_SECRET,
  clientOptions: { slackApiUrl: env.SLACK_API_URL ?? 'https://slack.com/api/' },
  processBeforeResponse: true, // Slack repeats the event until the service has stored the message.
  customRoutes: [{ path: '/agent-messaging', method: ['POST'], handler: receiveWebhook }],
})

app.event('app_mention', async ({ event, body }) => {
  const { channel, user, ts, thread_ts: thread = ts } = event
  const message = {
    sessionId: `${channel}/${thread}`,
    message: event.text.replace(/^<@\w+>\s*/, ''),
    executionPrincipal: { type: 'end_user', endUserId: user },
    metadata: { channel, thread },
  }
  await messages.send('support', message, { idempotencyKey: body.event_id, waitSeconds: 0 })
})

await app.start({ port: Number(env.PORT ?? 3002), host: '127.0.0.1' })
console.log('The Slack app is running.')
