import type { Maintenance } from '../maintenance/maintenance.js'
import type { Dispatcher } from '../messages/dispatcher.js'
import type { WaitingRoom } from '../messages/waiting-room.js'
import type { Platform } from '../platform.js'
import type { DeliverySender } from '../webhooks/delivery-sender.js'
import type { Supervisor } from './supervisor.js'

export type AgentsContext = Platform & {
  readonly maintenance: Maintenance
  readonly deliverySender: DeliverySender
  readonly dispatcher: Dispatcher
  readonly waitingRoom: WaitingRoom
  readonly supervisor: Supervisor
}
