import type { Maintenance } from '../maintenance/maintenance.js'
import type { Platform } from '../platform.js'
import type { RecoveryRunner } from './recovery-runner.js'
import type { DeliverySender } from './delivery-sender.js'

export type WebhooksContext = Platform & {
  readonly recoveryRunner: RecoveryRunner
  readonly maintenance: Maintenance
  readonly deliverySender: DeliverySender
}
