import { sendCallers, sendCallersPostgres } from './callers.mjs'
import { deliver, deliverOrdered, deliverOrderedPostgres, deliverPostgres } from './deliver.mjs'
import { endpointA2a, endpointMcp, endpointOpenai } from './endpoints.mjs'
import { fanOut, fanOutPostgres, fanOutPublish, fanOutPublishPostgres } from './fan-out.mjs'
import { firstByte, hanging } from './first-byte.mjs'
import { firstMinute, firstMinutePostgres } from './first-minute.mjs'
import { growthDeliver, growthDeliverPostgres, growthSend, growthSendPostgres } from './growth.mjs'
import { kills, killsPostgres } from './kills.mjs'
import { latency, latencyPostgres } from './latency.mjs'
import { lightPostgres, lightSqlite } from './light.mjs'
import { failed500, keepUp, loneReceiver, refused429, refused503, tokenBucket } from './limits.mjs'
import { idleMemory, idleMemoryPostgres, pendingDeliveries, waitingCallers } from './memory.mjs'
import { overload, overloadPostgres } from './overload.mjs'
import { poolPostgres } from './pool.mjs'
import { publish, publishPostgres } from './publish.mjs'
import { purgePostgres } from './purge.mjs'
import { projects, projectsPostgres, scale, scalePostgres } from './scale.mjs'
import { sendDuringSearch, sendDuringSearchPostgres } from './search.mjs'
import { sendWebhook, sendWebhookPostgres } from './send-webhook.mjs'
import { send, sendPostgres } from './send.mjs'
import { soak, soakPostgres } from './soak.mjs'
import { start } from './start.mjs'
import { openStreams, stream } from './stream.mjs'
import { fourServers, twoServers } from './two-servers.mjs'
import { worstInput } from './worst-input.mjs'

/** The rows of the table, by the names that `--row` takes. */
export const rows = {
  send,
  'send-postgres': sendPostgres,
  'send-callers': sendCallers,
  'send-callers-postgres': sendCallersPostgres,
  'send-webhook': sendWebhook,
  'send-webhook-postgres': sendWebhookPostgres,
  publish,
  'publish-postgres': publishPostgres,
  deliver,
  'deliver-postgres': deliverPostgres,
  latency,
  'latency-postgres': latencyPostgres,
  'light-sqlite': lightSqlite,
  'light-postgres': lightPostgres,
  'first-minute': firstMinute,
  'first-minute-postgres': firstMinutePostgres,
  'fan-out': fanOut,
  'fan-out-postgres': fanOutPostgres,
  'fan-out-publish': fanOutPublish,
  'fan-out-publish-postgres': fanOutPublishPostgres,
  'deliver-ordered': deliverOrdered,
  'deliver-ordered-postgres': deliverOrderedPostgres,
  'endpoint-a2a': endpointA2a,
  'endpoint-mcp': endpointMcp,
  'endpoint-openai': endpointOpenai,
  stream,
  'first-byte': firstByte,
  hanging,
  'refused-503': refused503,
  'refused-429': refused429,
  'failed-500': failed500,
  'lone-receiver': loneReceiver,
  'token-bucket': tokenBucket,
  'keep-up': keepUp,
  overload,
  'overload-postgres': overloadPostgres,
  'send-during-search': sendDuringSearch,
  'send-during-search-postgres': sendDuringSearchPostgres,
  'two-servers': twoServers,
  'four-servers': fourServers,
  projects,
  'projects-postgres': projectsPostgres,
  kills,
  'kills-postgres': killsPostgres,
  'idle-memory': idleMemory,
  'idle-memory-postgres': idleMemoryPostgres,
  'pending-deliveries': pendingDeliveries,
  'waiting-callers': waitingCallers,
  'open-streams': openStreams,
  start,
  'growth-send': growthSend,
  'growth-deliver': growthDeliver,
  'growth-send-postgres': growthSendPostgres,
  'growth-deliver-postgres': growthDeliverPostgres,
  scale,
  'scale-postgres': scalePostgres,
  soak,
  'soak-postgres': soakPostgres,
  'pool-postgres': poolPostgres,
  'purge-postgres': purgePostgres,
  'worst-input': worstInput,
}
