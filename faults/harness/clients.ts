import { createDice, type Dice } from '@org/agent-messaging-testing'
import type { ClientRequest } from '../checker/history.js'
import { request } from './api.js'
import { sleep } from './until.js'

export const AGENTS = ['worker', 'remote'] as const
const SESSIONS = 6
/** A send that is not accepted within this limit ends the run with an error. */
const SEND_LIMIT_MS = 300_000

export type Clients = { readonly requests: ClientRequest[]; stop(): Promise<void> }
type Send = {
  readonly agent: string
  readonly key: string
  readonly sessionId: string
  readonly message: string
}

/**
 * Starts callers that repeat a send with its key, at any server, until they get a 2xx. Some of them
 * read the message, and some send the same message twice at the same time.
 */
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
      const end = Date.now() + SEND_LIMIT_MS;
      Date.now() < end;
      await sleep(50 + dice.below(500))
    ) {
      const messageId = await attempt(send, dice)
      if (messageId !== undefined) return messageId
    }
    throw new Error(`no server accepted ${send.key} in ${SEND_LIMIT_MS / 1_000} s`)
  }

  async function attempt(
    { agent, key, sessionId, message }: Send,
    dice: Dice,
  ): Promise<string | undefined> {
    const headers = { 'idempotency-key': key, ...(dice.chance(0.3) && { prefer: 'respond-async' }) }
    const body = { sessionId, message, metadata: { key } }
    const sent = { kind: 'send', at: Date.now(), agent, key, sessionId, message } as const
    const answer = await answerOf(
      request(dice.oneOf(urls), 'POST', `/v1/agents/${agent}/messages`, body, headers),
    )
    requests.push({ ...sent, ...(answer && { answer }) })
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
  all.catch(() => (isOver = true)) // `stop` rejects with the error.
  return {
    requests,
    stop: async () => {
      isOver = true
      await all
    },
  }
}

type Answer = NonNullable<ClientRequest['answer']>

/** Returns undefined if no complete answer came. */
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
