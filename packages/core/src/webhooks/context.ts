import type { Maintenance } from '../maintenance/maintenance.js'
import type { Platform } from '../platform.js'
import type { RecoveryRunner } from './recovery-runner.js'
import type { DeliverySender } from './delivery-sender.js'

/** What works behind the calls of webhooks. */
type Parts = {
  readonly recoveryRunner: RecoveryRunner
  readonly maintenance: Maintenance
  readonly deliverySender: DeliverySender
}

/** The ports, and the parts that a use case names. */
export type With<Part extends keyof Parts> = Platform & Pick<Parts, Part>
