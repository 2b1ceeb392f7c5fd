. "$TEST/tools.sh"
use_go github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 oapi-codegen
go mod init check 2> init.log
mkdir hosting
oapi-codegen -generate types,client -package hosting -o hosting/hosting.go openapi.json
run_go
