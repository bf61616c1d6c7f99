import { initial } from './0001-initial.js'
import { groupedWrites } from './0002-grouped-writes.js'
import { agentOwners } from './0003-agent-owners.js'
import { plansForAnySize } from './0004-plans-for-any-size.js'
import { lockPatience } from './0005-lock-patience.js'
import { fewerStatements } from './0006-fewer-statements.js'
import { acceptsTogether } from './0007-accepts-together.js'

/** In order: the n-th one leads from version n-1 to n. What has been released is never changed. */
export const migrations: readonly string[] = [
  initial,
  groupedWrites,
  agentOwners,
  plansForAnySize,
  lockPatience,
  fewerStatements,
  acceptsTogether,
]
