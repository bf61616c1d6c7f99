import {
  sumOfUsage,
  USAGE_COUNTS,
  type Usage,
  type UsageCounts,
  type UsageQuery,
  type UsageStore,
} from '@org/agent-messaging-core/storage'
import type { Database, Statement } from 'better-sqlite3'
import type { GroupCommitter } from '../database/group-committer.js'
import type { Collected } from '../database/transaction.js'

type Row = UsageCounts & { readonly day: number }

type Sum = Usage & { readonly counts: UsageCounts }

/** Adds counts, in the transaction of the changes that they count. */
export class UsageRows implements Collected {
  readonly #add: Statement<[string, number, ...number[]]>
  /** The sums of this transaction, by project and day. */
  readonly #sums = new Map<string, Sum>()

  constructor(db: Database) {
    const columns = USAGE_COUNTS.map(columnOf)
    this.#add = db.prepare(`
      insert into usage (project_id, day, ${columns.join(', ')})
      values (?, ?, ${columns.map(() => '?').join(', ')})
      on conflict do update set ${columns.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`)
  }

  add(usage: Usage | undefined): void {
    if (!usage) return
    const { projectId, day } = usage
    const key = `${day} ${projectId}`
    const before = this.#sums.get(key)
    const counts = sumOfUsage(before ? [before.counts, usage.counts] : [usage.counts])
    this.#sums.set(key, { projectId, day, counts })
  }

  clear(): void {
    this.#sums.clear()
  }

  write(): void {
    for (const { projectId, day, counts } of this.#sums.values())
      this.#add.run(projectId, day, ...USAGE_COUNTS.map((name) => counts[name]))
  }
}

export function usageStore(db: Database, committer: GroupCommitter): UsageStore {
  const list = USAGE_COUNTS.map((name) => `${columnOf(name)} as ${name}`).join(', ')
  const select = db.prepare<[UsageQuery], Row>(
    `select day, ${list} from usage where project_id = @projectId and day between @fromDay and @toDay order by day`,
  )
  return {
    read: (query) =>
      committer.read(() => select.all(query).map(({ day, ...counts }) => ({ day, counts }))),
  }
}

const columnOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
