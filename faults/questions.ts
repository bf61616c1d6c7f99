import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { all, json, request } from './harness/api.js'
import { serverProcess } from './harness/server-process.js'
import { openStore, type StoreKind } from './harness/store.js'
import { sleep, until } from './harness/until.js'

type Options = {
  readonly store: StoreKind
  readonly kills: number
  /** Messages that wait or run at a time. */
  readonly open: number
  readonly onKill?: (kills: number) => void
}

/** The result of a run. The last five fields are broken promises. */
export type QuestionsOutcome = {
  readonly kills: number
  readonly messages: number
  readonly answers: number
  readonly repeatedAnswers: number
  readonly lostMessages: number
  readonly lostQuestions: number
  readonly doubleAnswers: number
  readonly wrongAnswers: number
  readonly unexpectedExits: readonly string[]
}

type Input = { readonly id: string; readonly question: string }
type Asking = {
  readonly agentId: string
  readonly messageId: string
  readonly message: string
  readonly state: string
  readonly response?: string
  readonly input?: Input
  readonly inputs?: readonly (Input & { readonly answer?: { readonly value: string } })[]
}

const DRAIN_LIMIT_MS = 120_000
const LONGEST_LIFE_MS = 400
const QUESTIONS = 2
const PATH = '/v1/agents/asker/messages'

/**
 * Kills the server at random moments while clients send messages whose agent asks two questions
 * each, and answer the questions: twice at once, with different values. Then checks all messages.
 */
export async function runQuestions({
  store: kind,
  kills,
  open,
  onKill = () => undefined,
}: Options): Promise<QuestionsOutcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-questions-'))
  const store = await openStore(kind, folder, false)
  const env = { SERVICE_RUN_LEASE_MS: '1500' }
  const place = { folder, name: 'server', databaseUrl: store.databaseUrl, env }
  const server = await serverProcess(place)
  await server.start()
  const { url } = server
  await json(url, 'POST', '/v1/agents', {
    name: 'asker',
    runtime: { kind: 'function', handler: 'asker' },
    desiredState: 'running',
    maxAttempts: 100,
    concurrency: 32,
  })
  const clients = new Clients(url)
  const stopped = new AbortController()
  const working = [clients.send(open, stopped.signal), clients.answer(stopped.signal)]
  for (let n = 1; n <= kills; n++) {
    await sleep(Math.random() * LONGEST_LIFE_MS)
    await server.kill('SIGKILL')
    await server.start()
    onKill(n)
  }
  clients.isSending = false
  await until(() => clients.isDone().catch(() => false), DRAIN_LIMIT_MS, 200)
  stopped.abort()
  await Promise.all(working)
  const found = await clients.check()
  await server.kill('SIGKILL')
  await store.close()
  return { kills, ...found, unexpectedExits: server.unexpectedExits }
}

class Clients {
  isSending = true
  readonly #url: string
  /** Message ids of accepted sends. */
  readonly #sent = new Set<string>()
  /** The accepted values, by question. */
  readonly #accepted = new Map<string, Set<string>>()
  #repeats = 0

  constructor(url: string) {
    this.#url = url
  }

  /** Keeps this number of messages open. */
  async send(open: number, signal: AbortSignal): Promise<void> {
    for (let n = 0; this.isSending && !signal.aborted; await sleep(20)) {
      const waiting = await this.#list('/v1/messages?status=pending').catch(() => undefined)
      if (!waiting || waiting.length >= open) continue
      const body = { sessionId: `session ${n}`, message: `message ${n}` }
      const headers = { prefer: 'respond-async', 'idempotency-key': `message ${n}` }
      const sent = await request(this.#url, 'POST', PATH, body, headers).catch(() => undefined)
      if (!sent?.ok) continue
      const { messageId } = (await sent.json()) as { messageId: string }
      this.#sent.add(messageId)
      n++
    }
  }

  async answer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const asking = await this.#list('/v1/inputs').catch(() => [])
      await Promise.all(asking.map((message) => this.#answerTwice(message)))
      await sleep(10)
    }
  }

  /** Two people answer at once. */
  async #answerTwice({ messageId, input }: Asking): Promise<void> {
    if (!input) return
    const answers = ['a', 'b'].map(async (person) => {
      const value = `${input.question} ${person}`
      const body = { inputId: input.id, value }
      const route = `${PATH}/${messageId}/input`
      const sent = await request(this.#url, 'POST', route, body).catch(() => undefined)
      if (!sent?.ok) return
      const values = this.#accepted.get(input.id) ?? new Set()
      if (values.has(value)) this.#repeats++
      this.#accepted.set(input.id, values.add(value))
    })
    await Promise.all(answers)
  }

  async isDone(): Promise<boolean> {
    return (await this.#list('/v1/messages?status=pending')).length === 0
  }

  async check(): Promise<Omit<QuestionsOutcome, 'kills' | 'unexpectedExits'>> {
    const messages = await this.#list(PATH)
    const byId = new Map(messages.map((message) => [message.messageId, message]))
    const inputs = messages.flatMap((message) => message.inputs ?? [])
    const stored = new Map(inputs.map((input) => [input.id, input]))
    const accepted = [...this.#accepted]
    return {
      messages: this.#sent.size,
      answers: accepted.length,
      repeatedAnswers: this.#repeats,
      lostMessages: [...this.#sent].filter((id) => byId.get(id)?.state !== 'responded').length,
      lostQuestions: messages.filter((message) => message.inputs?.length !== QUESTIONS).length,
      doubleAnswers: accepted.filter(([, values]) => values.size > 1).length,
      wrongAnswers:
        accepted.filter(([id, values]) => !values.has(stored.get(id)?.answer?.value ?? '')).length +
        messages.filter((message) => !isRight(message)).length,
    }
  }

  #list(route: string): Promise<Asking[]> {
    return all<Asking>(this.#url, route)
  }
}

/** The answer of the agent has the answers to its questions, in their order. */
function isRight({ message, response, inputs = [] }: Asking): boolean {
  const values = inputs.map(({ answer }) => answer?.value ?? '')
  const fit = values.every((value, at) => value.startsWith(`${message} ${at + 1} `))
  return fit && response === values.join(', ')
}
