import type { Result } from 'neverthrow'
import { isStorableText } from '../domain/json.js'
import type { RunRequest } from '../ports/agent-runtime.js'
import type { Held } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/** What a run may read of its session's past, and keep for its future. */
export function runMemory(
  d: Pick<Platform, 'storage' | 'policy'>,
  held: Held,
): Pick<RunRequest, 'history' | 'remember'> {
  return {
    history: async (limit) =>
      valueOf(await d.storage.messages.history({ messageId: held.messageId, ...limit })),
    remember: async (sessionState) => {
      const problem = stateProblem(sessionState, d.policy.limits.sessionStateLength)
      if (problem !== undefined) throw new Error(`the session state ${problem}`)
      const kept = valueOf(await d.storage.messages.rememberSession({ ...held, sessionState }))
      if (kept === 'lease_lost') throw new Error('the run has lost its lease')
    },
  }
}

/** Runtimes are outside of the core, where a promise that rejects is what everybody expects. The run may be tried again. */
function valueOf<T>(result: Result<T, Unavailable>): T {
  if (result.isErr())
    throw Object.assign(new Error(`the storage is away: ${result.error.reason}`), {
      retryable: true,
    })
  return result.value
}

function stateProblem(state: unknown, maxLength: number): string | undefined {
  if (typeof state !== 'string') return 'must be a string'
  if (state.length > maxLength) return `must have at most ${maxLength} characters`
  return isStorableText(state) ? undefined : 'must not hold NUL or lone surrogates'
}
