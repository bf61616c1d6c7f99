// Checks a host: node ../check-host.mjs <command…>
//
// Runs the command on a new database. Two users of the host send messages, and a server registers
// a webhook. Kills the host in the middle of a run and starts it again. The project, the messages,
// the secret of the webhook and the deliveries must then be the same.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@org/agent-messaging-client'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { createMessaging } from '@org/agent-messaging-node'
import { freePort } from '../scripts/free-port.mjs'
import { LIMIT_MS, Programs } from '../scripts/programs.mjs'

const AGENT = 'assistant'
/** Many enough that the check can act during the answer. */
const WORDS = 20

/**
 * A host reads `PORT` and `DATABASE`, and lets webhooks reach this machine if `LOCAL_WEBHOOKS` is
 * set. It knows the users ada and bob by the cookies `login=ada-secret` and `login=bob-secret`.
 * Its agent says word by word what a user said.
 */
export async function checkHost(command, { cwd = process.cwd(), env = process.env } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'agent-messaging-host-'))
  const database = `file:${path.join(folder, 'messaging.db')}`
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const settings = { ...env, PORT: port, DATABASE: database, LOCAL_WEBHOOKS: '1' }
  const programs = new Programs()
  const catcher = await createWebhookCatcher()
  async function start() {
    const host = programs.start(cwd, `exec ${command}`, settings)
    await programs.until('the host starts', async () => (await fetch(url)).ok)
    return host
  }
  try {
    let host = await start()
    const { projectId, key } = await withDatabase(database, async (messaging) => {
      const permissions = ['project:message', 'project:webhooks']
      const created = await messaging.keys.create({ name: 'check', permissions })
      return { ...created, projectId: messaging.projectId }
    })
    const [ada, bob] = [asUser(url, 'ada'), asUser(url, 'bob')]
    const server = createClient({ baseUrl: url, apiKey: key })
    const { secret } = catcher
    const registered = { url: catcher.url, secret, events: ['message.responded'] }
    const webhook = await server.webhooks.create(registered)

    const hello = await ada.messages.send(AGENT, { sessionId: 'ada/1', message: 'Hello' })
    assert.equal(hello.response, 'You said: Hello')
    const sent = [hello.messageId]
    await checkScope(url, { ada, bob, messageId: hello.messageId })

    for (let words = WORDS, isInterrupted = false; !isInterrupted; words *= 2) {
      const message = 'word '.repeat(words)
      const { messageId } = await startedRun(ada, message)
      await programs.end(host, 'SIGKILL')
      host = await start()
      assert.equal(await answerOf(ada, messageId), `You said: ${message}`)
      sent.push(messageId)
      // On a busy machine, the run can end before the kill. The next one is longer.
      isInterrupted = (await server.messages.runs(AGENT, messageId)).length > 1
    }
    const deliveries = await programs.until('all is delivered', async () => {
      const found = await Array.fromAsync(server.deliveries.list())
      return found.filter(({ status }) => status === 'delivered').length === sent.length && found
    })
    const { received, refused } = catcher
    assert.deepEqual(new Set(received.map(({ event }) => event.data.messageId)), new Set(sent))
    const caught = new Set(received.map(({ deliveryId }) => deliveryId))
    assert.deepEqual(caught, new Set(deliveries.map(({ id }) => id)))
    assert.deepEqual(refused, [])
    const webhooks = await Array.fromAsync(server.webhooks.list())
    assert.deepEqual(
      webhooks.map(({ id }) => id),
      [webhook.id],
    )
    await checkScope(url, { ada, bob, messageId: sent.at(-1) })

    const last = await startedRun(ada, 'word '.repeat(WORDS))
    await programs.end(host, 'SIGTERM')
    await last.events.return()
    assert.equal(host.exitCode ?? 0, 0)
    await withDatabase(database, async ({ messages, ...messaging }) => {
      const { state } = await messages.get({ agent: AGENT, messageId: last.messageId })
      assert.equal(state, 'responded', 'the stop let the run end')
      const { data } = await messaging.service.projects.list({ limit: 2 })
      assert.deepEqual([messaging.projectId, ...data.map(({ id }) => id)], [projectId, projectId])
    })
  } finally {
    await Promise.all([programs.endAll(), catcher.close()])
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(`${command}: a user's messages, another user, a kill, webhooks, a stop`)
}

/** Opens the database of a host, as another process of the host can. */
async function withDatabase(database, use) {
  const telemetry = { record() {} }
  const messaging = await createMessaging({ database, workers: false, telemetry })
  try {
    return await use(messaging)
  } finally {
    await messaging.stop()
  }
}

/** A client that sends the cookie of a user, as a browser does. */
export const asUser = (baseUrl, user) =>
  createClient({
    baseUrl,
    apiKey: null,
    fetch: (target, { headers, ...options }) =>
      fetch(target, { ...options, headers: { ...headers, cookie: `login=${user}-secret` } }),
  })

/** Another user finds nothing of a message, and a caller without a login gets nothing. */
async function checkScope(url, { ada, bob, messageId }) {
  assert.equal((await ada.messages.get(AGENT, messageId)).messageId, messageId)
  for (const refused of [
    () => bob.messages.get(AGENT, messageId),
    () => bob.messages.stream(AGENT, messageId).next(),
    () => bob.messages.send(AGENT, { sessionId: 'ada/1', message: 'Hello' }),
  ])
    await assert.rejects(refused, { status: 404 })
  assert.deepEqual(await Array.fromAsync(bob.messages.list(AGENT)), [])
  assert.equal((await fetch(`${url}/v1/agents/${AGENT}/messages/${messageId}`)).status, 401)
}

/** Sends a message, and returns when its answer has begun, or has ended on a busy machine. */
export async function startedRun({ messages }, message) {
  const sent = await messages.send(AGENT, { sessionId: 'ada/1', message }, { waitSeconds: 0 })
  const events = messages.stream(AGENT, sent.messageId, { signal: AbortSignal.timeout(LIMIT_MS) })
  while ((await events.next()).value.event === 'state');
  return { messageId: sent.messageId, events }
}

/** Follows a message to its end. */
export async function answerOf({ messages }, messageId) {
  const signal = AbortSignal.timeout(LIMIT_MS)
  const events = await Array.fromAsync(messages.stream(AGENT, messageId, { signal }))
  return events.at(-1).message.response
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await checkHost(process.argv.slice(2).join(' '))
