import type { Maintenance } from '../maintenance/maintenance.js'
import type { Messages } from '../messages/messages.js'
import type { Platform } from '../platform.js'
import type { Webhooks } from '../webhooks/webhooks.js'
import { createAgent } from './create-agent.js'
import {
  deleteAgent,
  getAgent,
  listAgents,
  startAgent,
  stopAgent,
  updateAgent,
} from './manage-agents.js'
import { eraseSession, listSessions } from './manage-sessions.js'
import { createSupervisor } from './supervisor.js'

/** Agents and their sessions: the calls of the service, and the supervisor behind them. */
export function createAgents(
  platform: Platform,
  maintenance: Maintenance,
  messages: Messages,
  { deliverySender }: Webhooks,
) {
  const { answerStreams, dispatcher, waitingRoom } = messages
  const supervisor = createSupervisor({ ...platform, deliverySender, answerStreams, dispatcher })
  const context = {
    ...platform,
    maintenance,
    deliverySender,
    dispatcher,
    waitingRoom,
    supervisor,
  }
  return {
    supervisor,
    agents: {
      create: createAgent(context),
      get: getAgent(context),
      list: listAgents(context),
      update: updateAgent(context),
      delete: deleteAgent(context),
      start: startAgent(context),
      stop: stopAgent(context),
    },
    sessions: { list: listSessions(context), erase: eraseSession(context) },
  }
}
