// A process that holds a lease with a lease keeper, and ends without closing it.
import { sqliteLeaseKeeper } from '@org/agent-messaging-adapter-sqlite'

const [path] = process.argv.slice(2)
const leaseKeeper = sqliteLeaseKeeper({ path, leaseMs: 3_600_000 })
leaseKeeper.hold({
  messageId: '01890000-0000-7000-8000-00000000000a',
  token: 1,
  until: Number.MAX_SAFE_INTEGER,
})
process.disconnect()
