import { chownSync, statSync } from 'node:fs'

/** As SQLite does with the files that it makes: what root makes beside a database, the database's owner goes on to use. Only root can. */
export function giveToOwnerOf(database: string, made: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(database)
  chownSync(made, uid, gid)
}
