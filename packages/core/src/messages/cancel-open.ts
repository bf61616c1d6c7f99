import { ok, okAsync, ResultAsync, safeTry } from 'neverthrow'
import type { AuditEntry } from '../domain/access/audit.js'
import { isFinal } from '../domain/messages/message.js'
import type { MessageFilter } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import { cancelFound, type CancelContext } from './change-messages.js'
import { chain } from '../pacing/chain.js'

/** Messages that one read finds and that are cancelled at once. */
const STEP = 50
/** After this many tries, messages arrive faster than they are cancelled. */
const MOST_TRIES = 20

type OpenMessages = Pick<MessageFilter, 'projectId' | 'agentId' | 'sessionId'>

/**
 * Repeats `remove` until no open message keeps it busy, and cancels the open messages before each
 * repetition. Each message is cancelled in its own commit with its events, as if a caller had
 * cancelled it. The first of these commits stores `audit`.
 */
export const cancelUntilRemoved = <T>(
  d: CancelContext,
  of: OpenMessages,
  remove: () => ResultAsync<T | 'busy', Unavailable>,
  audit?: AuditEntry,
): ResultAsync<T | 'busy', Unavailable> =>
  safeTry(async function* () {
    let removed = yield* remove()
    for (let tries = 0; removed === 'busy' && tries < MOST_TRIES; tries++) {
      yield* cancelOpen(d, of, audit)
      removed = yield* remove()
    }
    return ok(removed)
  })

/** Walks over the messages without an answer, oldest first, and cancels the open ones. */
const cancelOpen = (d: CancelContext, of: OpenMessages, audit: AuditEntry | undefined) =>
  safeTry(async function* () {
    const filter = { ...of, status: 'pending', order: 'asc' } as const
    let cursor: string | undefined
    do {
      const page = { limit: STEP, cursor }
      const { data, nextCursor } = yield* chain(d.storage.messages.list(filter, page))
      const open = data.filter(({ state }) => !isFinal(state))
      yield* ResultAsync.combine(open.map((message) => cancelFound(d, message, audit)))
      cursor = nextCursor ?? undefined
    } while (cursor !== undefined)
    return okAsync(undefined)
  })
