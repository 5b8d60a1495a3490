module example.com/small

go 1.26.6
