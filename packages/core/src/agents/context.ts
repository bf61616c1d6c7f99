import type { Maintenance } from '../maintenance/maintenance.js'
import type { WaitingRoom } from '../messages/waiting-room.js'
import type { Platform } from '../platform.js'
import type { LifecycleContext } from './agent-lifecycle.js'
import type { Supervisor } from './supervisor.js'

/** What works behind the calls of agents. */
export type Parts = Omit<LifecycleContext, keyof Platform> & {
  readonly maintenance: Maintenance
  readonly waitingRoom: WaitingRoom
  readonly supervisor: Supervisor
}

/** The ports and parts that a use case names. */
export type Needs<Name extends keyof (Platform & Parts)> = Pick<Platform & Parts, Name>
