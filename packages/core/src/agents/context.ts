import type { Maintenance } from '../maintenance/maintenance.js'
import type { WaitingRoom } from '../messages/waiting-room.js'
import type { LifecycleContext } from './agent-lifecycle.js'
import type { Supervisor } from './supervisor.js'

export type AgentsContext = LifecycleContext & {
  readonly maintenance: Maintenance
  readonly waitingRoom: WaitingRoom
  readonly supervisor: Supervisor
}
