import { errAsync, ok, safeTry, type ResultAsync } from 'neverthrow'
import {
  isScoped,
  seesAgent,
  seesSession,
  type Access,
  type AccessRestricted,
  type ByAccess,
} from '../domain/access/access.js'
import type { WebhookDelivery } from '../domain/webhooks/delivery.js'
import { fail } from '../domain/values/fail.js'
import { given } from '../domain/values/given.js'
import { newestThatFit, turnsOf, type HistoryLimit } from '../domain/messages/history.js'
import { broken, required, type Invalid } from '../domain/values/input-rules.js'
import { ofPage, type PageInput } from '../domain/values/page-rules.js'
import { isLonger } from '../domain/values/json.js'
import { MAX_SEARCHED_TEXT } from '../domain/values/limits.js'
import type { Message } from '../domain/messages/message.js'
import { sharedReads } from '../pacing/shared-reads.js'
import type {
  MessageFilter,
  MessageRef as StoredRef,
  MessageSearch,
} from '../ports/message-store.js'
import { failure, success } from '../ports/port-result.js'
import {
  CALLER_LEFT,
  OVERLOAD,
  type Caller,
  type Page,
  type PageOf,
  type Stored,
  type Unavailable,
} from '../ports/stored.js'
import type { Needs } from './context.js'
import type { Platform, Reading } from '../platform.js'
import { ProjectCounts } from './project-counts.js'
import { scopeOf, searchOf } from './scoped-lists.js'
import { chain, existing } from '../pacing/chain.js'
import { withParts } from './with-parts.js'

export type MessageRef = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  /** The id of the message. */
  readonly messageId: string
}
export type GetMessageInput = MessageRef &
  ByAccess & {
    /** Waits this long for the message to become final. 0 does not wait. */
    readonly waitMs?: number | undefined
    /** Ends the wait, never the run. */
    readonly abort?: Caller | undefined
  }
export type GetMessageError =
  | Unavailable
  | { readonly kind: 'agent_not_found' | 'message_not_found' }

/** The ports of a read that waits for its turn. */
type TurnReading = Pick<Platform, 'shared' | 'storage'>
export type MessageReads = TurnReading & Needs<'clock' | 'policy' | 'waitingRoom'>

export const getMessage =
  (d: MessageReads) =>
  ({ waitMs = 0, abort, ...ref }: GetMessageInput) =>
    safeTry(async function* () {
      const message = yield* readMessage(d)(ref)
      const deadline = d.clock.elapsed() + Math.min(waitMs, d.policy.syncWaitMs)
      const seen = await d.waitingRoom.wait(message, deadline, abort, ref.access)
      // A wait can end without an answer although the state has changed.
      const isNew = waitMs === 0 || seen !== message
      const found = isNew ? seen : yield* readMessage(d)(ref)
      const [whole = found] = yield* chain(withParts(d.storage, [found]))
      return ok(whole)
    })

const readMessage = (d: TurnReading) =>
  readOfMessage(d, async (ref, access) => {
    const found = await d.storage.messages.get(ref)
    const isHidden = found.ok && found.value && !seesSession(access, found.value.sessionId)
    return isHidden ? success(undefined) : found
  })

export const readRuns = (d: TurnReading) => readOfMessage(d, (ref) => d.storage.messages.runs(ref))

const readOfMessage = <T extends object>(
  d: TurnReading,
  read: (ref: StoredRef, access?: Access) => Stored<T | undefined>,
) =>
  d.shared(({ projectId, agent: name, messageId, access }: MessageRef & ByAccess) =>
    safeTry(async function* () {
      const agent = yield* chain(d.storage.agents.get(projectId, name))
      if (!agent || !seesAgent(access, agent)) return fail('agent_not_found')
      return existing(
        read({ projectId, agentId: agent.id, messageId }, access),
        'message_not_found',
      )
    }),
  )

export type ReadHistoryInput = MessageRef & ByAccess & HistoryLimit

export const readHistory =
  (d: TurnReading) =>
  ({ maxTurns, maxLength, ...ref }: ReadHistoryInput) =>
    safeTry(async function* () {
      const message = yield* readMessage(d)(ref)
      const { id: messageId, state } = message
      const limit = { maxTurns, maxLength }
      const before = yield* chain(d.storage.messages.history({ messageId, ...limit }))
      const response = state.kind === 'responded' ? state.response : null
      const own = turnsOf({ ...message, messageId, response })
      return ok(newestThatFit([...own, ...before.toReversed()], limit))
    })

type MessagesOf = ByAccess & {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
} & {
  readonly [K in keyof MessageFilter as Exclude<K, 'projectId' | 'agentId' | 'scope'>]?:
    | MessageFilter[K]
    | undefined
}

type WithParts = {
  /** True to read the parts of answers too. */
  readonly parts?: boolean | undefined
}

/** `order: 'asc'` lists the oldest first. */
export type ListMessagesInput = MessagesOf & PageInput & WithParts

/** `most` limits the number and its cost. */
export type CountMessagesInput = Omit<MessagesOf, 'order'> & {
  /** Stops counting at this number. */
  readonly most: number
}

export const listMessages =
  (d: Reading) =>
  ({ limit, cursor, parts, ...messages }: ListMessagesInput) =>
    safeTry(async function* () {
      const problem = broken(required({ agent: messages.agent }))
      if (problem) return problem
      const filter = yield* filterOf(d, messages)
      const list = (part: PageOf) => d.storage.messages.list(filter, part)
      return pageOfText({ limit, cursor }, list, partOptions(d, parts))
    })

export const countMessages =
  (d: Reading) =>
  ({ most, ...messages }: CountMessagesInput) =>
    safeTry(async function* () {
      const problem = broken(required({ agent: messages.agent, most }))
      if (problem) return problem
      const filter = yield* filterOf(d, messages)
      return chain(d.storage.messages.count(filter, most))
    })

function filterOf(d: Reading, { projectId, agent: name, access, ...given }: MessagesOf) {
  return chain(d.storage.agents.get(projectId, name)).andThen((agent) => {
    if (!agent || !seesAgent(access, agent)) return fail('agent_not_found')
    const known = Object.entries(given).filter(([, value]) => value !== undefined)
    return ok({ ...Object.fromEntries(known), projectId, agentId: agent.id, ...scopeOf(access) })
  })
}

type Searched = Omit<MessageSearch, 'agentIds' | 'scope'>
export type SearchMessagesInput = ByAccess &
  PageInput &
  WithParts & {
    readonly [K in keyof Searched]: Searched[K] | undefined
  } & {
    readonly projectId: string
    /** Only messages of the agent with this id or name. */
    readonly agent?: string | undefined
    /** Once it is aborted, the search ends. */
    readonly abort?: Caller | undefined
  }
type SearchMessagesError =
  | Unavailable
  | Invalid
  | AccessRestricted
  | { readonly kind: 'agent_not_found' }
/** A message with the newest deliveries of its events. A scoped caller sees no deliveries. */
export type FoundMessage = {
  readonly message: Message
  readonly deliveries: readonly WebhookDelivery[]
}

/** A list of all deliveries has the rest. */
const MOST_DELIVERIES = 100

/** Searches for a text, in each process. One that waits longer is refused. */
const TEXT_SEARCHES = { places: 2, maxWaiting: 100, maxWaitMs: 30_000 }
/** Searches for a text of one caller with an `Access`. Each page of one takes up to a second. */
const TEXT_SEARCHES_OF_CALLER = 2
const TOO_MANY_SEARCHES: Unavailable = { kind: 'unavailable', reason: OVERLOAD, retryInMs: 1_000 }
const TEXT_TOO_LONG: Invalid = {
  kind: 'invalid',
  issues: [{ path: 'text', message: `must have at most ${MAX_SEARCHED_TEXT} characters` }],
}

export function searchMessages(
  d: TurnReading & Pick<Platform, 'clock'>,
): (input: SearchMessagesInput) => ResultAsync<Page<FoundMessage>, SearchMessagesError> {
  const find = d.shared(findMessages(d))
  const findText = sharedReads(d.clock, TEXT_SEARCHES)(findMessages(d))
  const searches = new ProjectCounts(TEXT_SEARCHES_OF_CALLER)
  return (input) => {
    if (input.text === undefined) return find(input)
    if (isLonger(input.text, MAX_SEARCHED_TEXT)) return errAsync(TEXT_TOO_LONG)
    if (searches.isFull(input, Infinity)) return errAsync(TOO_MANY_SEARCHES)
    searches.add(input, 1)
    const found = findText(input)
    const done = () => searches.add(input, -1)
    void found.then(done, done)
    return found
  }
}

const findMessages =
  (d: Reading) =>
  ({ limit, cursor, abort, parts, ...search }: SearchMessagesInput) =>
    safeTry(async function* () {
      const { access, agent, ...asked } = search
      const isPlain = access === undefined && agent === undefined
      const wanted = isPlain ? (given(asked) as MessageSearch) : yield* searchOf(d, search)
      const list = (part: PageOf) =>
        abort?.aborted
          ? Promise.resolve(failure(CALLER_LEFT))
          : d.storage.messages.search(wanted, part, abort)
      // The store bounds the texts of a page that it looks at.
      const most = search.text === undefined ? PART : Infinity
      const options = { most, ...partOptions(d, parts) }
      const { nextCursor, ...found } = yield* await pageOfText({ limit, cursor }, list, options)
      const deliveries = isScoped(access)
        ? []
        : yield* chain(
            d.storage.deliveries.ofMessages({
              projectId: search.projectId,
              messageIds: found.data.map(({ id }) => id),
              limit: MOST_DELIVERIES,
            }),
          )
      const data = found.data.map((message) => ({
        message,
        deliveries: deliveries
          .filter(({ messageId }) => messageId === message.id)
          .map(({ delivery }) => delivery),
      }))
      const last = found.data.at(-1)
      const lookedBackTo = nextCursor === last?.id ? last?.createdAt : found.lookedBackTo
      return ok({ data, nextCursor, ...given({ lookedBackTo }) })
    })

/**
 * UTF-16 units. A page of the longest answers would have a hundred times as many, and block other
 * requests.
 */
const MOST_TEXT = 2 * 1024 * 1024
/** Messages per read. Reads no more than this beyond the page. */
const PART = 20
/** Messages per read of their parts. */
const PART_WITH_PARTS = 4

/** Returns the page up to the message that reaches the limit of text. */
export const pageOfText = (
  page: PageInput,
  list: (part: PageOf) => Stored<Page<Message>>,
  { most = PART, cursorOf = ({ id }) => id, isCursor, partsIn }: PartOptions = {},
): ResultAsync<Page<Message>, Unavailable | Invalid> =>
  ofPage(page, (checked) => readParts(checked, list, { most, cursorOf, partsIn }), isCursor)

type PartOptions = {
  readonly most?: number
  /** Returns the cursor behind a message. Default: its id. */
  readonly cursorOf?: (message: Message) => string
  readonly isCursor?: (cursor: string) => boolean
  /** The storage of the parts, to read them too. */
  readonly partsIn?: Platform['storage'] | undefined
}

const partOptions = (d: Reading, parts: boolean | undefined) =>
  parts === true ? { most: PART_WITH_PARTS, partsIn: d.storage } : {}

function readParts(
  { limit, cursor: first }: PageOf,
  list: (part: PageOf) => Stored<Page<Message>>,
  { most, cursorOf, partsIn }: Required<Omit<PartOptions, 'isCursor'>>,
) {
  return safeTry(async function* () {
    const data: Message[] = []
    let text = 0
    for (let cursor = first; ;) {
      const wanted = Math.min(most, limit - data.length)
      const part = yield* chain(list({ limit: wanted, cursor }))
      const found = partsIn ? yield* chain(withParts(partsIn, part.data)) : part.data
      for (const message of found) {
        data.push(message)
        text += textLength(message)
        if (text >= MOST_TEXT) {
          const isWhole = message === found.at(-1)
          return ok(isWhole ? { ...part, data } : { data, nextCursor: cursorOf(message) })
        }
      }
      // A shorter part with a cursor has read as much as one page can.
      const isPageRead = part.data.length < wanted || data.length === limit
      if (part.nextCursor === null || isPageRead) return ok({ ...part, data })
      cursor = part.nextCursor
    }
  })
}

const textLength = ({ message, inputParts, responseSchema, state, parts }: Message): number =>
  message.length +
  (inputParts || responseSchema ? JSON.stringify([inputParts, responseSchema]).length : 0) +
  (state.kind === 'responded' ? state.response.length : 0) +
  (parts ? JSON.stringify(parts.parts).length : 0)
