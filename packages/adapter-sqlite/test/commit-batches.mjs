// Commits batches of concurrent writes, one batch after the other, in an existing storage.
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'

const [path, batches, size] = process.argv.slice(2)
const storage = openSqliteStorage({ path })
for (let batch = 0; batch < Number(batches); batch++) {
  const writes = Array.from({ length: Number(size) }, (_, n) =>
    storage.credentials.replaceSetting(`${batch} ${n}`, undefined, 'x'),
  )
  for (const written of await Promise.all(writes))
    if (!written.ok) throw new Error(written.error.reason)
}
process.exit() // without closing, because the checkpoint of a close syncs too
