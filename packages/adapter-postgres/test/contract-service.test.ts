import { describeStorageContract } from '@org/agent-messaging-core/contract'
import { onPostgres } from './contract-storages.js'

describeStorageContract('PostgreSQL', onPostgres(), ['service'])
