// Runs the customer's side in a process without faults: receivers under /hook/<name> and an agent
// under /agent. Sends its port over the channel, and receives commands there.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDice } from '@org/agent-messaging-testing'
import { journal } from './journal.js'

/** With `good`, all receivers answer 200 immediately and the agent succeeds, from now on. */
export type ActorsCommand = { readonly good?: boolean }

const [folder = '', seed = '1', slowMs = '1500'] = process.argv.slice(2)
const dice = createDice(Number(seed))
const noteReceived = journal(folder, 'received')
const noteRun = journal(folder, 'runs-remote')
let isGood = false
const CALLBACK_LIMIT_MS = 60_000

process.on('message', ({ good }: ActorsCommand) => {
  if (good !== undefined) isGood = good
})
process.on('disconnect', () => process.exit())

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('utf8')
    if (request.url === '/agent') void agent(request, response, body)
    else void receive(request, response, body)
  })
})
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)

type Behaviour = 'well' | 'fails' | 'busy' | 'cuts' | 'slow'
const behaviours: readonly (readonly [number, Behaviour])[] = [
  [80, 'well'],
  [10, 'fails'],
  [2, 'busy'],
  [5, 'cuts'],
  [3, 'slow'],
]

/** The receiver `steady` accepts each request. The other receivers fail at random. */
async function receive(
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const at = Date.now()
  const receipt = randomUUID()
  const behaviour = isGood || url.endsWith('/steady') ? 'well' : dice.weighted(behaviours)
  const kept = Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name.startsWith('webhook-') || name.startsWith('x-service-'),
    ),
  )
  const request = { at, webhookId: url.slice('/hook/'.length), headers: kept, body, receipt }
  if (behaviour === 'cuts') {
    noteReceived(request)
    return void response.destroy()
  }
  if (behaviour === 'slow') await sleep(Number(slowMs))
  const retryAfterMs = 1_000 * (1 + dice.below(2))
  const status = { well: 200, fails: 500, busy: 429, slow: 200 }[behaviour]
  noteReceived({
    ...request,
    answer: { at: Date.now(), status, ...(behaviour === 'busy' && { retryAfterMs }) },
  })
  if (behaviour === 'busy') response.setHeader('retry-after', retryAfterMs / 1_000)
  response.writeHead(status).end(receipt)
}

type Work = {
  readonly messageId: string
  readonly sessionId: string
  readonly message: string
  readonly attempt: number
  readonly callback?: Callback
}
type Callback = { readonly url: string; readonly token: string }

/** Answers immediately or by callback, or fails. */
async function agent(
  { method }: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  if (method !== 'POST') return void response.writeHead(204).end()
  const { messageId, sessionId, message, attempt, callback } = JSON.parse(body) as Work
  const run = randomUUID()
  const startedAt = Date.now()
  noteRun({ run, messageId, sessionId, agent: 'remote', attempt, startedAt })
  const answers = isGood
    ? 'at once'
    : dice.weighted([
        [84, 'at once'],
        [10, 'later'],
        [4, 'not'],
        [2, 'cut'],
      ] as const)
  await sleep(dice.below(20))
  if (answers === 'later' && callback) {
    response.writeHead(202).end()
    await sleep(dice.below(200))
    noteRun({ run, endedAt: Date.now(), response: `${message}: ${run}` })
    return callBack(callback, `${message}: ${run}`)
  }
  if (answers === 'not' || answers === 'cut') {
    noteRun({ run, endedAt: Date.now() })
    return void (answers === 'cut' ? response.destroy() : response.writeHead(503).end())
  }
  noteRun({ run, endedAt: Date.now(), response: `${message}: ${run}` })
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ response: `${message}: ${run}` }))
}

/** Repeats a callback until the service accepts or refuses it. */
async function callBack({ url, token }: Callback, text: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const end = Date.now() + CALLBACK_LIMIT_MS; Date.now() < end; await sleep(50)) {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ response: text }),
      signal: AbortSignal.timeout(5_000),
    }).catch(() => undefined)
    if (answer && answer.status < 500) return
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
