import { createDice, type Dice } from '@org/agent-messaging-core/testing'
import type { ClientRequest } from '../checker/history.js'
import { request } from './api.js'
import { sleep } from './until.js'

export const AGENTS = ['worker', 'remote'] as const
const SESSIONS = 6
/** Beyond this a send is not to be had, and the run ends with an error. */
const PATIENCE_MS = 300_000

export type Clients = { readonly requests: ClientRequest[]; stop(): Promise<void> }
type Send = {
  readonly agent: string
  readonly key: string
  readonly sessionId: string
  readonly message: string
}

/** Careful callers: each repeats a send with its key, at any of the servers, until it gets a 2xx; some read, some send the same twice at once. */
export function startClients(
  urls: readonly string[],
  seed: number,
  count: number,
  pauseMs: number,
): Clients {
  const requests: ClientRequest[] = []
  let isOver = false

  async function client(name: string, dice: Dice): Promise<void> {
    for (let n = 0; !isOver; n++) {
      const key = `${seed}-${name}-${n}`
      const send: Send = {
        agent: dice.oneOf(AGENTS),
        key,
        sessionId: `session-${dice.below(SESSIONS)}`,
        message: `message ${key}`,
      }
      const both = dice.chance(0.1)
      const [messageId] = await Promise.all([
        retryUntilStored(send, dice),
        ...(both ? [retryUntilStored(send, dice)] : []),
      ])
      if (dice.chance(0.3)) await read(send.agent, messageId, dice)
      await sleep(dice.below(2 * pauseMs))
    }
  }

  async function retryUntilStored(send: Send, dice: Dice): Promise<string> {
    for (
      const end = Date.now() + PATIENCE_MS;
      Date.now() < end;
      await sleep(50 + dice.below(500))
    ) {
      const messageId = await attempt(send, dice)
      if (messageId !== undefined) return messageId
    }
    throw new Error(`no server accepted ${send.key} in ${PATIENCE_MS / 1_000} s`)
  }

  async function attempt(
    { agent, key, sessionId, message }: Send,
    dice: Dice,
  ): Promise<string | undefined> {
    const headers = { 'idempotency-key': key, ...(dice.chance(0.3) && { prefer: 'respond-async' }) }
    const body = { sessionId, message, metadata: { key } }
    const told = { kind: 'send', at: Date.now(), agent, key, sessionId, message } as const
    const answer = await answerOf(
      request(dice.oneOf(urls), 'POST', `/v1/agents/${agent}/messages`, body, headers),
    )
    requests.push({ ...told, ...(answer && { answer }) })
    return answer && answer.status < 300 ? answer.messageId : undefined
  }

  async function read(agent: string, messageId: string, dice: Dice): Promise<void> {
    const at = Date.now()
    const answer = await answerOf(
      request(dice.oneOf(urls), 'GET', `/v1/agents/${agent}/messages/${messageId}`),
    )
    requests.push({ kind: 'read', at, agent, messageId, ...(answer && { answer }) })
  }

  const running = Array.from({ length: count }, (_, n) =>
    client(`client${n}`, createDice(seed * 1_000 + n)),
  )
  const all = Promise.all(running)
  all.catch(() => (isOver = true)) // told when it is awaited
  return {
    requests,
    stop: async () => {
      isOver = true
      await all
    },
  }
}

type Answer = NonNullable<ClientRequest['answer']>

/** Undefined when there was none, or not all of it. */
async function answerOf(sent: Promise<Response>): Promise<Answer | undefined> {
  try {
    const response = await sent
    const { messageId, response: text } = (await response.json()) as {
      messageId?: string
      response?: string
    }
    return {
      at: Date.now(),
      status: response.status,
      ...(messageId !== undefined && { messageId }),
      ...(text !== undefined && { response: text }),
    }
  } catch {
    return undefined
  }
}
