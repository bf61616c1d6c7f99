import {
  methods,
  RequestError,
  type LoadSessionRequest,
  type NewSessionRequest,
} from '@agentclientprotocol/sdk'
import { isStorableText, type RunRequest, type Turn } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import type { AcpConnection, Introduction } from './acp-connection.js'
import { AnswerInvalid } from './acp-failure.js'

/** The agent's sessions, each of which is one of ours. */
export type AcpSessions = {
  /**
   * The session to prompt in: the one of the runs before, opened again where the agent can after a restart, or else a new one.
   * A new one is kept by `remember` before this resolves, and is to be told of the turns in `past` until one of it has settled.
   */
  open(
    run: RunRequest,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly past: readonly Turn[] }>
  /** The agent has ended a turn in it, and so knows what it was told. */
  settle(id: string): void
  /** Never prompts in it again while the agent lives: a turn that would not end may still go on in there. */
  abandon(id: string): void
  /** The agent does not know it any more: it is to be opened again. */
  forget(id: string): void
}

export type AcpSessionsOptions = {
  readonly connection: Pick<AcpConnection, 'ask'>
  readonly agent: Introduction
  /** Absolute. */
  readonly cwd: string
  readonly timeoutMs: number
}

/** Of the conversation so far, what an agent that has forgotten it is told. */
const PAST = { maxTurns: 20, maxLength: 32_000 }
const MAX_ID_LENGTH = 1_000
const REQUEST_CANCELLED = RequestError.requestCancelled().code
const AUTH_REQUIRED = RequestError.authRequired().code

const created = z.object({ sessionId: z.string().min(1).max(MAX_ID_LENGTH).refine(isStorableText) })

export function acpSessions({
  connection: { ask },
  agent,
  cwd,
  timeoutMs,
}: AcpSessionsOptions): AcpSessions {
  /** All that this process of the agent has opened, and for which of our sessions. */
  const seen = new Map<
    string,
    { readonly ours: string; readonly state: 'new' | 'open' | 'abandoned' }
  >()

  function mark(id: string, state: 'open' | 'abandoned'): void {
    const before = seen.get(id)
    if (before) seen.set(id, { ...before, state })
  }

  /** Whether it is open now. */
  async function reopen(id: string, ours: string, signal: AbortSignal): Promise<boolean> {
    const known = seen.get(id)
    // An agent that counts its sessions gives the numbers of its earlier life again, to others.
    if (known) return known.ours === ours && known.state !== 'abandoned'
    if (!agent.canResume && !agent.canLoad) return false
    // Loading replays the conversation, which nobody here looks at.
    const method = agent.canResume ? methods.agent.session.resume : methods.agent.session.load
    try {
      await ask(method, { sessionId: id, cwd, mcpServers: [] } satisfies LoadSessionRequest, {
        signal,
        timeoutMs,
      })
      seen.set(id, { ours, state: 'open' })
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  async function begin(run: RunRequest, signal: AbortSignal): Promise<string> {
    const answer = await ask(
      methods.agent.session.new,
      { cwd, mcpServers: [] } satisfies NewSessionRequest,
      { signal, timeoutMs },
    )
    const id = created.safeParse(answer).data?.sessionId
    if (id === undefined)
      throw new AnswerInvalid('the agent opened a session without an id that can be stored')
    // Two sessions in one would hear each other's answers.
    if (seen.has(id)) throw new AnswerInvalid('the agent gave a new session the id of another')
    seen.set(id, { ours: run.sessionId, state: 'new' })
    await run.remember(id)
    return id
  }

  return {
    async open(run, signal) {
      const { sessionState: known } = run
      const id =
        known !== undefined && (await reopen(known, run.sessionId, signal))
          ? known
          : await begin(run, signal)
      return { id, past: seen.get(id)?.state === 'new' ? await run.history(PAST) : [] }
    },
    settle: (id) => mark(id, 'open'),
    abandon: (id) => mark(id, 'abandoned'),
    forget(id) {
      seen.delete(id)
    },
  }
}

/** The agent knows nothing of the session any more, or cannot read it: it has said so, in one of many codes. */
const isRefusal = (error: unknown): boolean =>
  error instanceof RequestError && error.code !== REQUEST_CANCELLED && error.code !== AUTH_REQUIRED
