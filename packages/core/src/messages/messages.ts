import type { Agent } from '../domain/agent.js'
import { ProjectLimits } from './project-limits.js'
import { Recent } from '../domain/recent.js'
import type { Platform } from '../platform.js'
import type { Webhooks } from '../webhooks/webhooks.js'
import { SendGate } from '../pacing/send-gate.js'
import { AgentStarts } from './agent-starts.js'
import { answerByLink, readByLink } from './answer-by-link.js'
import { answerRun, isRunToken } from './answer-run.js'
import { cancelMessage, retryMessage } from './change-messages.js'
import { Dispatcher } from './dispatcher.js'
import { InputDeadlines } from './input-deadlines.js'
import { answerInput, listInputs, withdrawInput } from './inputs.js'
import { deleteHook, listHooks, setHook } from './message-hooks.js'
import { getMessage, listMessages, readHistory, searchMessages } from './read-messages.js'
import { enqueueMessage, OVERLOADED, sendMessage } from './send-message.js'
import { AnswerStreams } from './stream/answer-streams.js'
import { streamMessage } from './stream/stream-message.js'
import { WaitingRoom } from './waiting-room.js'

const MOST_RECENT_AGENTS = 1_000

export type Messages = ReturnType<typeof createMessages>

/**
 * Messages: the calls of the service, and the dispatcher, waiting callers and streams behind them.
 */
export function createMessages(platform: Platform, { deliverySender }: Webhooks) {
  const sendGate = new SendGate(platform.policy.overload, platform.clock.elapsed())
  const answerStreams = new AnswerStreams(platform)
  const waitingRoom = new WaitingRoom(platform)
  const dispatcher = new Dispatcher({ ...platform, deliverySender, answerStreams, sendGate })
  const agentStarts = new AgentStarts(platform)
  const context = {
    ...platform,
    deliverySender,
    answerStreams,
    dispatcher,
    waitingRoom,
    agentStarts,
    sendGate,
    recentAgents: new Recent<Agent>(MOST_RECENT_AGENTS),
    projectLimits: new ProjectLimits(platform),
  }
  return {
    answerStreams,
    waitingRoom,
    dispatcher,
    inputDeadlines: new InputDeadlines(context),
    /** Questions of agents to people. */
    inputs: {
      list: listInputs(context),
      answer: answerInput(context),
      withdraw: withdrawInput(context),
      readByLink: readByLink(context),
      answerByLink: answerByLink(context),
    },
    /** Receivers of the events of one message, in the form of A2A's push notifications. */
    hooks: {
      set: setHook(context),
      list: listHooks(context),
      delete: deleteHook(context),
    },
    messages: {
      send: sendMessage(context),
      /** Returns the error of a send that is refused because too many others wait. */
      overload: () => (sendGate.refuses(platform.clock.elapsed()) ? OVERLOADED : undefined),
      enqueue: enqueueMessage(context),
      get: getMessage(context),
      history: readHistory(context),
      list: listMessages(context),
      search: searchMessages(context),
      stream: streamMessage(context),
      cancel: cancelMessage(context),
      retry: retryMessage(context),
      answer: answerRun(context),
      isRunToken: isRunToken(context),
    },
  }
}
