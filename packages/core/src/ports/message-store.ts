import type { EarlierTurn, HistoryLimit, Turn } from '../domain/messages/history.js'
import type { Instant } from '../domain/values/instant.js'
import type { JsonObject } from '../domain/values/json.js'
import type {
  AfterRun,
  AskingState,
  CancelledState,
  DeferredState,
  Message,
  MessageProgress,
  MessageState,
  MessageStateKind,
  RunningMessage,
} from '../domain/messages/message.js'
import type { HookOfMessage } from '../domain/messages/message-hook.js'
import type { AnswerParts } from '../domain/messages/part.js'
import type { MessageInput } from '../domain/messages/message-input.js'
import type { MessageRun, PastRun } from '../domain/messages/past-run.js'
import type { SessionScope } from '../domain/access/access.js'
import type { BucketLevel, TokenTake } from '../domain/access/send-limit.js'
import type { Count } from '../domain/operations/counts.js'
import type { ClaimedDeliveries, Outgoing } from './delivery-store.js'
import type {
  Audited,
  Caller,
  Lease,
  Page,
  PageOf,
  PrincipalStep,
  Purge,
  Stored,
} from './stored.js'

/**
 * Messages and their sessions. A session is a queue and a lock: it hands out one message at a
 * time, in the order of acceptance, and the next one only when that message is final.
 */
export interface MessageStore {
  /**
   * Accepts a message, in one snapshot: returns the message of the idempotency key, or refuses
   * because of the agent or a full session, or commits the message with its key. With `claimUntil`
   * and an idle session the message is born running, under a lease. A repeated call with the same
   * id returns `existing`. A revoked `readEarlier.apiKeyId` comes before all other results. An
   * agent with another `updatedAt` comes after `existing` and after agents that do not run.
   * The message of the key can belong to another session. Core then refuses the send.
   */
  accept(message: NewMessage): Stored<Accepted>
  /**
   * Claims the first messages of due sessions: queued, after a backoff, past a deferral's
   * deadline, or left by a dead process. Oldest due first, and at most `free` per lane. No two
   * callers get the same message. A claim counts as an attempt, as `claimedAttempt` says. A claim
   * that takes over a message stores the run that was lost.
   */
  claimRunnable(query: ClaimRunnable): Stored<ClaimedMessage[]>
  /**
   * Extends the leases that still hold to `until`. Returns the ids of the others: the caller must
   * abort their runs.
   */
  extendLeases(held: readonly HeldRun[], until: Instant): Stored<string[]>
  /**
   * Marks the run as answered later. The session stays held without a lease until
   * `state.deadlineAt`, and the token stays valid.
   */
  defer(deferral: Deferral): Stored<'deferred' | 'lease_lost'>
  /**
   * Commits the message's state, the event, its deliveries and the session's next message
   * together, and the run if it is `ended`. Returns `lease_lost`, and changes nothing, if the token
   * is outdated.
   */
  recordRun(run: RunRecord): Stored<RecordedRun>
  /**
   * Ends the run with a question: the run, the message's state, its inputs, the event and its
   * deliveries in one commit. The message stays the head of its session, and no claim takes it. Returns
   * `lease_lost`, and changes nothing, if the token is outdated.
   */
  ask(asking: Asking): Stored<RecordedRun>
  /**
   * Changes a message that waits for the answer to `inputId`: its state, its inputs, the event and
   * its deliveries in one commit. If `dueAt` is given, the message must also have that due time.
   * Otherwise returns `not_waiting`, and changes nothing. In the state queued the message can be
   * claimed from `notBefore` on.
   */
  changeInput(change: InputChange): Stored<InputChanged | undefined>
  /**
   * Returns messages with questions of all projects whose due time has come, the longest due first.
   */
  dueInputs(query: { readonly now: Instant; readonly limit: number }): Stored<Message[]>
  /**
   * Lists messages that wait for an answer, the nearest deadline first. The cursor is a
   * `deadlineCursor`, so a page goes on behind a question that was answered.
   */
  listAsking(questions: QuestionsOf, page: PageOf): Stored<Page<Message>>
  /**
   * Ends an open message, whether or not it runs: its state, event and deliveries in one commit. A
   * run is stored, and loses its lease. Other messages of the session keep their order.
   */
  cancel(cancellation: Cancellation): Stored<Cancelled | undefined>
  /**
   * Puts a failed or cancelled message at the end of its session's queue, with its attempts at 0
   * and without its inputs.
   */
  retry(retry: Retry): Stored<Retried | undefined>
  /** Replaces the metadata of a message. Events that were committed before keep theirs. */
  setMetadata(change: MetadataChange): Stored<Message | undefined>
  /**
   * Stores the runtime's state for the session. Later claims of the session return it. The last
   * write counts.
   */
  rememberSession(memory: SessionMemory): Stored<'remembered' | 'lease_lost'>
  /**
   * Returns the answered turns before the message's place in its session, oldest first, without
   * the oldest ones that do not fit. `earlierTurns` of a message come directly before that message.
   * Reads at most 5,000 messages.
   */
  history(query: HistoryOf): Stored<Turn[]>
  get(ref: MessageRef): Stored<Message | undefined>
  /**
   * Returns the parts of those messages among the ids that have parts, of any project. They are
   * deleted with their message.
   */
  parts(messageIds: readonly string[]): Stored<ReadonlyMap<string, AnswerParts>>
  /**
   * Returns the runs of a message, oldest first: the newest 100 that ended without an answer, and
   * the run that goes on or answered. They are deleted with the message.
   */
  runs(ref: MessageRef): Stored<MessageRun[] | undefined>
  /** Reads a message of any project, for a caller with a run token. */
  getHeld(messageId: string): Stored<{ message: Message; token: number } | undefined>
  /** Returns the messages among the ids that are final or wait for a person, with one query. */
  findSettled(messageIds: readonly string[]): Stored<Message[]>
  /** Returns the existing messages among the ids, of any project and in any order. */
  find(messageIds: readonly string[]): Stored<Message[]>
  /**
   * Lists messages, newest first unless `order` is `asc`. Messages of one session come in the
   * order of their places, where a retried one is last.
   */
  list(filter: MessageFilter, page: PageOf): Stored<Page<Message>>
  /** Counts the messages that `list` finds. Stops at `most`. */
  count(filter: MessageFilter, most: number): Stored<number>
  /**
   * Finds messages of all agents of a project that `matchesSearch`, newest first. Messages of one
   * session come in the order of their places. A page can have fewer messages than its limit, or
   * none, and still a `nextCursor`, because a store can limit the rows and the bytes of texts that it
   * looks at, over all agents together. A store in the process commits the waiting writes and lets
   * the event loop turn between two steps, and is `Unavailable` once the caller has left.
   */
  search(search: MessageSearch, page: PageOf, caller?: Caller): Stored<Page<Message>>
  /**
   * Deletes final messages with their idempotency keys, and idle sessions with their last message.
   * The keys can be used again. Looks at messages roughly in the order of their creation, and puts
   * off those that are open or became final later.
   */
  purge(purge: Purge & { readonly now: Instant }): Stored<PurgedMessages>
  /** Counts the open messages of the project, by default of all projects. */
  backlog(now: Instant, projectId?: string): Stored<MessageBacklog>
  /** The backlogs of projects by their ids. Can leave out a project of which all is 0. */
  backlogs(now: Instant): Stored<ReadonlyMap<string, MessageBacklog>>
  /**
   * Lists sessions, the one with the newest message first. `nextCursor` is the id of the newest
   * message of the page's last session.
   */
  listSessions(sessions: SessionsOf & InScope, page: PageOf): Stored<Page<SessionSummary>>
  /**
   * Erases the session with its messages, their keys and the runtime's state. Nothing finds them
   * after the commit, and the session starts afresh. Returns `busy` if messages are open.
   */
  erase(session: SessionErasure): Stored<'erased' | 'busy' | undefined>
  /**
   * Erases an agent's messages of an end user with their keys, and the runtime's state of their
   * sessions. A session without other messages goes whole. Open messages are counted and kept,
   * unless `force` is true: then their runs lose their leases, and the next messages of their
   * sessions are due. With `next` there can be more after that position. A store can look at any
   * number of rows per call.
   */
  erasePrincipal(step: MessageErasure): Stored<ErasedMessages>
  /**
   * Frees the space of erased sessions, deleted agents and deleted hooks with their deliveries, at
   * most about `limit` rows. Erases what is left of the published events of deleted agents. A hook is deleted with its message. Returns the number of rows.
   */
  sweep(step: Sweep): Stored<number>
}

export type Sweep = { readonly limit: number; readonly now: Instant }

/** With fewer than `limit` that it `looked` at, no more are left for now. */
export type PurgedMessages = { readonly removed: number; readonly looked: number }

/** `messages` were erased, or would be with `countOnly`. `openMessages` were kept. */
export type ErasedMessages = {
  readonly messages: number
  readonly openMessages: number
  readonly next?: number | undefined
}

/**
 * Counts of messages. `oldestDueAt` is the time since which the longest waiting message could run.
 * Agents that do not run have none. `oldestAskedAt` is the time of the oldest open question.
 */
export type MessageBacklog = {
  readonly queued: number
  readonly running: number
  readonly deferred: number
  readonly inputRequired: number
  readonly oldestDueAt?: Instant
  readonly oldestAskedAt?: Instant
}

export type NewMessage = Omit<Message, 'attempt' | 'inputs' | 'state' | 'createdAt' | 'parts'> & {
  readonly idempotencyKey?: string
  /** Turns that the sender brings along. Only `history` returns them. */
  readonly earlierTurns?: readonly EarlierTurn[]
  /** Stored in the commit of a new message. */
  readonly hook?: HookOfMessage
  readonly now: Instant
  readonly claimUntil?: Instant
  /** Appended in the commit of a new message. */
  readonly count?: Count
  /** A new message takes these tokens in its commit, or is refused as `rate_limited`. */
  readonly takes?: readonly TokenTake[]
  readonly readEarlier?: ReadEarlier
}

/**
 * What the caller read in an earlier call instead of now. The accept checks both again, in its
 * snapshot, and before it looks for the idempotency key. A repeated call with the same id still
 * finds its message after a change of the agent.
 */
export type ReadEarlier = {
  readonly apiKeyId?: string | undefined
  readonly agentUpdatedAt?: Instant | undefined
}

/** The buckets of `takes` after the send. */
type Levels = readonly BucketLevel[]

export type Accepted =
  | { readonly kind: 'created'; readonly message: Message; readonly levels?: Levels | undefined }
  | {
      readonly kind: 'claimed'
      readonly claimed: ClaimedMessage
      readonly levels?: Levels | undefined
    }
  | { readonly kind: 'existing'; readonly message: Message }
  | { readonly kind: 'agent_not_found' }
  | { readonly kind: 'agent_not_running' }
  | { readonly kind: 'session_full' }
  /** A bucket of `takes` is empty. */
  | { readonly kind: 'rate_limited'; readonly levels: Levels }
  /** What `readEarlier` names is not valid any more. Nothing was stored. */
  | { readonly kind: 'key_revoked' }
  | { readonly kind: 'agent_changed' }

/** An agent that this process runs, and its free run slots. */
export type FreeSlots = { readonly agentId: string; readonly free: number }
export type HeldRun = { readonly messageId: string; readonly token: number }
export type MessageRef = {
  readonly projectId: string
  readonly agentId: string
  readonly messageId: string
}
export type ClaimRunnable = {
  readonly lanes: readonly FreeSlots[]
  readonly now: Instant
  readonly until: Instant
}
export type Deferral = HeldRun & { readonly state: DeferredState }
export type RunRecord = HeldRun & {
  readonly state: AfterRun
  readonly now: Instant
  readonly outgoing?: Outgoing | undefined
  /** Stored in the same commit. Absent for an answer, and for a message that ends without a run. */
  readonly ended?: PastRun | undefined
  /** Stored in the same commit, if the state has `hasParts`. */
  readonly parts?: AnswerParts | undefined
  /** Appended in the same commit. */
  readonly count?: Count
}
export type Asking = HeldRun & {
  readonly state: AskingState
  readonly inputs: readonly MessageInput[]
  readonly outgoing: Outgoing
  /** Stored in the same commit. */
  readonly ended?: PastRun | undefined
  /** Appended in the same commit. */
  readonly count?: Count
}
/** The states that follow a question. */
export type AfterInput = Extract<MessageState, { kind: 'input_required' | 'queued' | 'failed' }>
export type InputChange = Audited &
  MessageRef & {
    readonly inputId: string
    readonly dueAt?: Instant
    readonly state: AfterInput
    readonly inputs: readonly MessageInput[]
    readonly now: Instant
    readonly outgoing: Outgoing
    /** Appended in the same commit. */
    readonly count?: Count
  }
export type MetadataChange = MessageRef & { readonly metadata: JsonObject }
export type SessionMemory = HeldRun & { readonly sessionState: string }
export type Cancellation = Audited &
  MessageRef & {
    readonly state: CancelledState
    readonly outgoing: Outgoing
    /** Appended in the same commit. */
    readonly count?: Count
  }
export type Retry = Audited & MessageRef & { readonly now: Instant }
export type SessionErasure = Audited & SessionsOf & { readonly sessionId: string }
export type MessageErasure = PrincipalStep & { readonly agentId: string; readonly force: boolean }

export type HistoryOf = HistoryLimit & { readonly messageId: string }
/**
 * `lost`: an earlier run died, or its callback never came. `sessionState` is the last state that
 * `rememberSession` stored. `isExhausted`: the message had no attempts left before this claim, so
 * the caller ends the message without a run. It stores the `lostRun`, which the claim did not.
 */
export type ClaimedMessage = {
  readonly message: RunningMessage
  readonly lease: Lease
  readonly lost?: 'running' | 'deferred'
  readonly isExhausted?: true
  readonly lostRun?: PastRun | undefined
  readonly sessionState?: string | undefined
}

export type RecordedRun =
  | ({
      readonly kind: 'recorded'
      readonly message: Message
      readonly sessionWaits: boolean
    } & ClaimedDeliveries)
  | { readonly kind: 'lease_lost' }

/**
 * `already_final`: the message was final before. `sessionWaits`: another message of the session
 * can be claimed, now or later.
 */
export type Cancelled =
  | ({
      readonly kind: 'cancelled'
      readonly message: Message
      readonly sessionWaits: boolean
    } & ClaimedDeliveries)
  | { readonly kind: 'already_final'; readonly message: Message }

export type InputChanged =
  | ({
      readonly kind: 'changed'
      readonly message: Message
      readonly sessionWaits: boolean
    } & ClaimedDeliveries)
  | { readonly kind: 'not_waiting'; readonly message: Message }

export type Retried =
  | { readonly kind: 'retried'; readonly message: Message }
  | { readonly kind: 'not_retryable' }
  | { readonly kind: 'agent_not_running' }
  | { readonly kind: 'session_full' }

export type SessionsOf = { readonly projectId: string; readonly agentId: string }
/**
 * `openCount` counts messages that are not final. `lastMessageAt` is the acceptance of the newest
 * one.
 */
export type SessionSummary = {
  readonly sessionId: string
  readonly openCount: number
  readonly lastMessageId: string
  readonly lastMessageAt: Instant
}

/**
 * Limits a list to some sessions. An index finds the sessions of the scope, and no other session is
 * read. A prefix is compared by code points.
 */
export type InScope = { readonly scope?: SessionScope }

export type MessageFilter = InScope & {
  readonly projectId: string
  readonly agentId: string
  /** The id of the session. */
  readonly sessionId?: string
  /** `pending` covers every state except `responded`. */
  readonly status?: 'pending' | 'responded'
  /** The state of the messages. */
  readonly state?: MessageStateKind
  readonly progress?: MessageProgress
  /** Finds messages that came into their state at this time or later. */
  readonly changedFrom?: Instant
  /** The order of their places: newest first (`desc`, the default), or oldest first. */
  readonly order?: 'asc' | 'desc'
}

export type MessageSearch = InScope & {
  readonly projectId: string
  /** Only messages of these agents. */
  readonly agentIds?: readonly string[]
  /** The id of the message. */
  readonly messageId?: string
  /** The id of the session. */
  readonly sessionId?: string
  /** Only messages of this end user. */
  readonly endUserId?: string
  /** `correlationId` of the metadata: a string, or the text of a number. */
  readonly correlationId?: string
  /** `pending` covers every state except `responded`. */
  readonly status?: 'pending' | 'responded'
  /** The state of the messages. */
  readonly state?: MessageStateKind
  /**
   * A part of the message, of its answer or of its session's name, or the last 8 or more characters
   * of its id. Only ASCII letters match in either case.
   */
  readonly text?: string
  /** Inclusive. */
  readonly createdAfter?: Instant
  /** Exclusive. */
  readonly createdBefore?: Instant
}

/** Selects questions. */
export type QuestionsOf = Pick<
  MessageSearch,
  'projectId' | 'agentIds' | 'sessionId' | 'endUserId' | 'scope'
>
