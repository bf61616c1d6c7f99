import { ProjectCounts } from './project-counts.js'
import { ProjectLimits } from './project-limits.js'
import type { Platform } from '../platform.js'
import type { Webhooks } from '../webhooks/webhooks.js'
import { TurnQueue } from '../pacing/turn-queue.js'
import { AgentStarts } from './runs/agent-starts.js'
import { answerByLink, readByLink } from './answer-by-link.js'
import { answerRun, isRunToken } from './runs/answer-run.js'
import { cancelMessage, retryFailed, retryMessage, setMetadata } from './change-messages.js'
import { Dispatcher } from './runs/dispatcher.js'
import { EarlierReads } from './earlier-reads.js'
import { InputDeadlines } from './input-deadlines.js'
import { answerInput, listInputs, withdrawInput } from './inputs.js'
import { deleteHook, listHooks, setHook } from './message-hooks.js'
import {
  countMessages,
  getMessage,
  listMessages,
  readHistory,
  readRuns,
  searchMessages,
} from './read-messages.js'
import { readStory } from './read-story.js'
import { publishBatch, publishEvent } from './publish-events.js'
import { enqueueMessage, sendMessage } from './send-message.js'
import { AnswerStreams } from './stream/answer-streams.js'
import { streamMessage } from './stream/stream-message.js'
import { WaitingRoom } from './waiting-room.js'

/**
 * `places`: sends that the storage has at once, see decision 22. A send that the storage has not
 * confirmed after `maxRunMs` is answered.
 */
const SEND_PLACES = { places: 24, maxRunMs: 5_000 }

export type Messages = ReturnType<typeof createMessages>

/**
 * Messages: the calls of the service, and the dispatcher, waiting callers and streams behind them.
 */
export function createMessages(platform: Platform, { deliverySender, recoveryRunner }: Webhooks) {
  const { shared } = platform
  const answerStreams = new AnswerStreams(platform)
  const waits = new ProjectCounts()
  const waitingRoom = new WaitingRoom(platform, waits)
  const dispatcher = new Dispatcher({ ...platform, deliverySender, answerStreams })
  recoveryRunner.onRetried((agentId) => dispatcher.wake(agentId))
  const agentStarts = new AgentStarts(platform, waits)
  const earlierReads = new EarlierReads(platform)
  const context = {
    ...platform,
    deliverySender,
    recoveryRunner,
    answerStreams,
    dispatcher,
    waitingRoom,
    agentStarts,
    earlierReads,
    sendQueue: new TurnQueue(platform.clock, {
      ...SEND_PLACES,
      ...platform.policy.sendQueue,
      stopped: platform.stopDeadline,
    }),
    projectLimits: new ProjectLimits(platform),
  }
  return {
    answerStreams,
    waitingRoom,
    dispatcher,
    earlierReads,
    inputDeadlines: new InputDeadlines(context),
    /** Questions of agents to people. */
    inputs: {
      list: shared(listInputs(context)),
      answer: answerInput(context),
      withdraw: withdrawInput(context),
    },
    /** Receivers of the events of one message, in the form of A2A's push notifications. */
    hooks: {
      set: setHook(context),
      list: listHooks(context),
      delete: deleteHook(context),
    },
    events: { publish: publishEvent(context), publishBatch: publishBatch(context) },
    messages: {
      send: sendMessage(context),
      enqueue: enqueueMessage(context),
      get: getMessage(context),
      history: shared(readHistory(context)),
      runs: readRuns(context),
      story: shared(readStory(context)),
      list: shared(listMessages(context)),
      count: countMessages(context),
      search: searchMessages(context),
      stream: streamMessage(context),
      cancel: cancelMessage(context),
      retry: retryMessage(context),
      retryFailed: retryFailed(context),
      setMetadata: setMetadata(context),
    },
    host: {
      answerRun: answerRun(context),
      isRunToken: isRunToken(context),
      readByLink: readByLink(context),
      answerByLink: answerByLink(context),
    },
  }
}
