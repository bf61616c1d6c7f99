// Runs the Slack app against the service, a model and a Slack of this folder. `npm start` prints
// the conversation.
import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@org/agent-messaging-client'
import { freePort } from '../../scripts/free-port.mjs'
import { startModel } from '../shared/model.mjs'
import { printed, startService } from '../shared/service.mjs'
import { SIGNING_SECRET, startSlack } from './slack.mjs'

/** Starts everything, and calls `use` with the Slack and the URL of the app. */
export async function withSlackApp(use) {
  const [model, slack, service] = [await startModel(), await startSlack(), await startService()]
  const port = await freePort()
  const env = {
    ...process.env,
    PORT: `${port}`,
    MESSAGING_URL: service.url,
    MESSAGING_KEY: service.key,
    WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
    SLACK_API_URL: slack.url,
    SLACK_BOT_TOKEN: 'xoxb-any',
    SLACK_SIGNING_SECRET: SIGNING_SECRET,
  }
  const app = spawn(process.execPath, [path.join(import.meta.dirname, 'app.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(app, 'exit')
  try {
    const client = createClient({ baseUrl: service.url, apiKey: service.key })
    const runtime = { kind: 'openai', baseUrl: model.url, model: 'plan' }
    await client.agents.create({ name: 'support', runtime })
    const url = `http://127.0.0.1:${port}/agent-messaging`
    const events = ['message.responded', 'message.failed']
    await client.webhooks.create({ url, events, secret: env.WEBHOOK_SECRET })
    await printed(app, 'The Slack app is running.')
    return await use({ slack, url: `http://127.0.0.1:${port}`, client })
  } finally {
    app.kill()
    await ended
    await Promise.all([service.stop(), model.close(), slack.close()])
  }
}

export const QUESTIONS = [
  { id: 'Ev1', channel: 'C1', ts: '100.1', text: '<@U0APP> Hello' },
  { id: 'Ev2', channel: 'C1', ts: '100.2', thread: '100.1', text: '<@U0APP> What did I say?' },
]

async function talk({ slack, url }) {
  for (const [n, question] of QUESTIONS.entries()) {
    console.log(`#${question.channel} U1: ${question.text}`)
    await slack.mention(url, question)
    await slack.postsReach(n + 1)
    const { channel, thread, text } = slack.posts[n]
    console.log(`#${channel}, thread ${thread}, app: ${text}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await withSlackApp(talk)
