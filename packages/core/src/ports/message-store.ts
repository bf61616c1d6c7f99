import type { HistoryLimit, Turn } from '../domain/history.js'
import type { Instant } from '../domain/instant.js'
import type {
  AfterRun,
  CancelledState,
  DeferredState,
  Message,
  MessageStateKind,
  RunningMessage,
} from '../domain/message.js'
import type { ActivityQuery, MessageCount } from './activity.js'
import type { ClaimedDelivery, Outgoing } from './delivery-store.js'
import type { Lease, Page, PageOf, PrincipalStep, Purge, Stored } from './stored.js'

/**
 * Messages, and the sessions that they queue in. A session is the queue and the lock: it hands out one message at a time,
 * in the order of acceptance, and the next only when that one is final.
 */
export interface MessageStore {
  /**
   * Finds the message of the idempotency key, else checks that the agent exists in the project, that it runs and that the
   * session has room, and commits the message; all in one snapshot. With `claimUntil` and an idle session it is born
   * running, under a lease. Repeated with the same id it answers `existing`.
   */
  accept(message: NewMessage): Stored<Accepted>
  /**
   * Claims the heads of due sessions: queued, backed off, past a deferral's deadline, or of a dead process. Oldest due
   * first, at most `free` a lane; no two callers get the same one. A claim counts an attempt.
   */
  claimRunnable(query: ClaimRunnable): Stored<ClaimedMessage[]>
  /** Moves every lease that still holds to `until`; answers the ids of those that do not, whose runs are to be aborted. */
  extendLeases(held: readonly Held[], until: Instant): Stored<string[]>
  /** The runtime answers later: the session stays held, without a lease, until `state.deadlineAt`; the token stays good. */
  defer(deferral: Deferral): Stored<'deferred' | 'lease_lost'>
  /** State, event, deliveries and the session's next head in one commit; or none of them, and `lease_lost`. */
  recordRun(run: RunRecord): Stored<RecordedRun>
  /**
   * Ends a message that is not final, whoever runs it: state, event and deliveries in one commit, and a lease on it is lost. The
   * others of its session keep their order.
   */
  cancel(cancellation: Cancellation): Stored<Cancelled | undefined>
  /** Puts a failed or cancelled message at the end of its session's queue, with no attempts counted: its old place has passed. */
  retry(retry: Retry): Stored<Retried | undefined>
  /** Keeps what the runtime has to know at the session's next runs, whose claims hand it over. The newest counts. */
  rememberSession(memory: SessionMemory): Stored<'remembered' | 'lease_lost'>
  /**
   * The answered turns before the message's place in its session, oldest first: of the newest ones as many as fit. Looks at
   * no more than the 5,000 messages before it.
   */
  history(query: HistoryOf): Stored<Turn[]>
  get(ref: MessageRef): Stored<Message | undefined>
  /** Any project's message; for a caller that proves its right by a run token. */
  getHeld(messageId: string): Stored<{ message: Message; token: number } | undefined>
  /** Those of the ids that are final. One query, however many. */
  findFinal(messageIds: readonly string[]): Stored<Message[]>
  /** Those of the ids that there are, in any order. One query, however many. */
  find(messageIds: readonly string[]): Stored<Message[]>
  /** Newest first unless `order` is `asc`; those of one session by their places in it, where a retried one is behind the rest. */
  list(filter: MessageFilter, page: PageOf): Stored<Page<Message>>
  /** Deletes final messages with their idempotency keys, which are free again, and idle sessions with their last message. Answers how many messages. */
  purge(purge: Purge): Stored<number>
  /** What is open at this moment, over all projects. */
  backlog(now: Instant): Stored<MessageBacklog>
  /** What came of late, in any order. `newest` holds for each agent. */
  activity(query: ActivityQuery): Stored<MessageCount[]>
  /** Those with the newest messages first. `nextCursor` is the id of the newest message of the page's last session. */
  listSessions(agent: SessionsOf, page: PageOf): Stored<Page<SessionSummary>>
  /**
   * Erases the session with its messages, their keys and what was remembered: from the commit on nothing finds them, and the
   * session begins afresh. Refuses with `busy` while messages are open, unless `force`: those are then gone, unanswered.
   */
  erase(session: SessionErasure): Stored<'erased' | 'busy' | undefined>
  /**
   * Erases an agent's messages of an end user with their keys, and what their sessions remembered; a session without others goes whole.
   * Those that are not final are counted and kept, unless `force`: then their runs have lost their leases, and who is behind them is next.
   * With `next` there may be more from that place on. A store may look at so many rows a call as it likes, up to all.
   */
  erasePrincipal(step: MessageErasure): Stored<ErasedMessages>
  /** Frees the room of what was erased, and of what deleted agents had: at most `limit` rows. Gives how many. */
  sweep(query: { readonly limit: number }): Stored<number>
}

/** `messages` were erased, or would be; `openMessages` were kept. */
export type ErasedMessages = {
  readonly messages: number
  readonly openMessages: number
  readonly next?: number
}

/** Numbers of messages. `oldestDueAt`: since when the one that waits longest could run; agents that do not run have none. */
export type MessageBacklog = {
  readonly queued: number
  readonly running: number
  readonly deferred: number
  readonly oldestDueAt?: Instant
}

export type NewMessage = Omit<Message, 'attempt' | 'state' | 'createdAt'> & {
  readonly idempotencyKey?: string
  readonly now: Instant
  readonly claimUntil?: Instant
}

export type Accepted =
  | { readonly kind: 'created'; readonly message: Message }
  | { readonly kind: 'claimed'; readonly claimed: ClaimedMessage }
  | { readonly kind: 'existing'; readonly message: Message }
  | { readonly kind: 'agent_not_found' }
  | { readonly kind: 'agent_not_running' }
  | { readonly kind: 'session_full' }

/** An agent that this process runs, and how many more runs it can take now. */
export type Lane = { readonly agentId: string; readonly free: number }
export type Held = { readonly messageId: string; readonly token: number }
export type MessageRef = {
  readonly projectId: string
  readonly agentId: string
  readonly messageId: string
}
export type ClaimRunnable = {
  readonly lanes: readonly Lane[]
  readonly now: Instant
  readonly until: Instant
}
export type Deferral = Held & { readonly state: DeferredState }
export type RunRecord = Held & {
  readonly state: AfterRun
  readonly now: Instant
  readonly outgoing?: Outgoing
}
export type SessionMemory = Held & { readonly sessionState: string }
export type Cancellation = MessageRef & {
  readonly state: CancelledState
  readonly outgoing: Outgoing
}
export type Retry = MessageRef & { readonly now: Instant }
export type SessionErasure = SessionsOf & { readonly sessionId: string; readonly force: boolean }
export type MessageErasure = PrincipalStep & { readonly agentId: string; readonly force: boolean }

export type HistoryOf = HistoryLimit & { readonly messageId: string }
/** `lost` says what an earlier run left undone: it died, or its callback never came. `sessionState` is what was last remembered. */
export type ClaimedMessage = {
  readonly message: RunningMessage
  readonly lease: Lease
  readonly lost?: 'running' | 'deferred'
  readonly sessionState?: string
}

export type RecordedRun =
  | {
      readonly kind: 'recorded'
      readonly message: Message
      readonly deliveries: readonly ClaimedDelivery[]
      readonly sessionWaits: boolean
    }
  | { readonly kind: 'lease_lost' }

/** `already_final`: there was nothing left to cancel. `sessionWaits`: another of its session may be claimed, now or later. */
export type Cancelled =
  | {
      readonly kind: 'cancelled'
      readonly message: Message
      readonly deliveries: readonly ClaimedDelivery[]
      readonly sessionWaits: boolean
    }
  | { readonly kind: 'already_final'; readonly message: Message }

export type Retried =
  | { readonly kind: 'retried'; readonly message: Message }
  | { readonly kind: 'not_retryable' }
  | { readonly kind: 'agent_not_running' }
  | { readonly kind: 'session_full' }

export type SessionsOf = { readonly projectId: string; readonly agentId: string }
/** `openCount`: its messages that are not final. `lastMessageAt`: when its newest one was accepted. */
export type SessionSummary = {
  readonly sessionId: string
  readonly openCount: number
  readonly lastMessageId: string
  readonly lastMessageAt: Instant
}

export type MessageFilter = {
  readonly projectId: string
  readonly agentId: string
  readonly sessionId?: string
  readonly status?: 'pending' | 'responded'
  readonly state?: MessageStateKind
  readonly order?: 'asc' | 'desc'
}
