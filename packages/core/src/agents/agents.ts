import type { Maintenance } from '../maintenance/maintenance.js'
import type { Messages } from '../messages/messages.js'
import type { Platform } from '../platform.js'
import type { Webhooks } from '../webhooks/webhooks.js'
import { createAgent } from './create-agent.js'
import { declareAgents } from './declare-agents.js'
import {
  deleteAgent,
  getAgent,
  listAgents,
  startAgent,
  stopAgent,
  updateAgent,
} from './manage-agents.js'
import { eraseSession, listSessions } from './manage-sessions.js'
import { Supervisor } from './supervisor.js'

/** Agents and their sessions: the calls of the service, and the supervisor behind them. */
export function createAgents(
  platform: Platform,
  maintenance: Maintenance,
  messages: Messages,
  { deliverySender }: Webhooks,
) {
  const { shared } = platform
  const { dispatcher, waitingRoom } = messages
  const supervising = { ...platform, deliverySender, dispatcher }
  const supervisor = new Supervisor(supervising)
  const context = { ...supervising, maintenance, waitingRoom, supervisor }
  return {
    supervisor,
    agents: {
      create: createAgent(context),
      update: updateAgent(context),
      delete: deleteAgent(context),
      start: startAgent(context),
      stop: stopAgent(context),
      declare: declareAgents(context),
      get: shared(getAgent(context)),
      list: shared(listAgents(context)),
    },
    sessions: { list: shared(listSessions(context)), erase: eraseSession(context) },
  }
}
