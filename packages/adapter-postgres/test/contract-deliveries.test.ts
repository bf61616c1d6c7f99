import { describeStorageContract } from '@org/agent-messaging-testing/contract'
import { onPostgres } from './contract-storages.js'

describeStorageContract('PostgreSQL', onPostgres(), ['deliveries'])
